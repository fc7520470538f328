"""Tables on disk: schemas, codec, shards and files by URI."""
