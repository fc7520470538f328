"""Parameter names of heads in the transformers library <-> ours (the head of a task model)."""

BERT_HEAD = (
    ("cls.predictions.transform.dense", "head.dense"),
    ("cls.predictions.transform.LayerNorm", "head.norm"),
    ("cls.predictions.bias", "head.decoder.bias"),
    ("cls.predictions.decoder.weight", "head.decoder.weight"),
)

ROBERTA_HEAD = (
    ("lm_head.dense", "head.dense"),
    ("lm_head.layer_norm", "head.norm"),
    ("lm_head.bias", "head.decoder.bias"),
    ("lm_head.decoder.weight", "head.decoder.weight"),
)

KEPT_TWICE = ("cls.predictions.decoder.bias", "lm_head.decoder.bias")
"""Duplicates of the decoder's bias."""

CLASSIFIER = ("classifier", "head.classifier")
"""The head that labels tokens."""
