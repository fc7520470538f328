"""Tables on disk: schemas, codecs, shards, the folder of a data set, and files by URI."""
