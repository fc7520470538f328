"""Parameter names of BERT, and of models built on it, in the transformers library <-> ours."""

from layoutray.nn.weight_names import NameTable

Pairs = tuple[tuple[str, str], ...]

EMBEDDINGS = (
    ("word_embeddings", "word_embedding"),
    ("position_embeddings", "position_embedding"),
    ("token_type_embeddings", "segment_embedding"),
    ("LayerNorm", "norm"),
)
_QUERY_KEY_VALUE = tuple((f"attention.self.{name}", f"attention.{name}") for name in ("query", "key", "value"))
_AFTER_ATTENTION = (
    ("attention.output.LayerNorm", "join.norm"),
    ("intermediate.dense", "feed_forward.expand"),
    ("output.dense", "feed_forward.contract"),
    ("output.LayerNorm", "feed_forward.join.norm"),
)
LAYER = (*_QUERY_KEY_VALUE, ("attention.output.dense", "attention.output"), *_AFTER_ATTENTION)
TEXT_LAYER = (("attention.self.value", "value"), ("attention.output.dense", "output"), *_AFTER_ATTENTION)
"""A `SharedAttentionLayer`."""

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


def prefixed(theirs: str, ours: str, pairs: Pairs) -> Pairs:
    """`pairs` with these prefixes."""
    return tuple((theirs + name, ours + own) for name, own in pairs)


def layers(theirs: str, ours: str) -> Pairs:
    """Pairs for layers; `theirs` and `ours` are prefixes, including the dot."""
    return prefixed(f"{theirs}encoder.layer.{{}}.", f"{ours}layers.{{}}.", LAYER)


def bert(theirs: str, ours: str) -> Pairs:
    """Pairs for embeddings and layers; the arguments are those of `layers`."""
    return (*prefixed(f"{theirs}embeddings.", ours, EMBEDDINGS), *layers(theirs, ours))


FROM_PEER = NameTable(bert("model.", ""))
"""From our `hf` architecture with a BERT or RoBERTa; both sides are encoders."""
FORMNET_FROM_PEER = NameTable(
    (
        *prefixed("model.embeddings.", "", EMBEDDINGS),
        *prefixed(
            "model.encoder.layer.{}.",
            "layers.{}.",
            (*_QUERY_KEY_VALUE, ("attention.output.dense", "output"), *_AFTER_ATTENTION),
        ),
    )
)
PYRAMIDION_FROM_PEER = NameTable(
    (
        ("model.embeddings.word_embeddings", "word_embedding"),
        *prefixed("model.embeddings.", "core.", EMBEDDINGS[1:]),
        *layers("model.", ""),
    )
)

LAYOUTLMV3 = NameTable(
    (
        *prefixed(
            "layoutlmv3.embeddings.",
            "encoder.boxes.",
            (
                ("x_position_embeddings", "x"),
                ("y_position_embeddings", "y"),
                ("h_position_embeddings", "height"),
                ("w_position_embeddings", "width"),
            ),
        ),
        *prefixed(
            "layoutlmv3.encoder.",
            "encoder.relative_bias.",
            (("rel_pos_bias", "sequential"), ("rel_pos_x_bias", "horizontal"), ("rel_pos_y_bias", "vertical")),
        ),
        *bert("layoutlmv3.", "encoder."),
        CLASSIFIER,
    )
)
"""LayoutLMv3 without pictures in the transformers library; ours are an encoder and a head within a task model."""


def peer_table(model_type: str, names: frozenset[str]) -> NameTable:
    """BERT, RoBERTa, LayoutLM, LiLT or Longformer <-> our `hf`, for a file with these names.

    It holds a model with a head, or an encoder, whose prefix is optional. Dropped are tensors that our models do not
    use: the pooler, the head of next sentence prediction, position ids.
    """
    body = f"{model_type}." if any(name.startswith(f"{model_type}.") for name in names) else ""
    head = (*(ROBERTA_HEAD if model_type in ("roberta", "longformer") else BERT_HEAD), CLASSIFIER)
    has_head = any(name.startswith(theirs) for name in names for theirs, _ in head)
    parts = ("embeddings", "encoder", "layout_embeddings")
    return NameTable(
        (*((f"{body}{part}", f"encoder.model.{part}") for part in parts), *head),
        dropped=(f"{body}pooler", f"{body}embeddings.position_ids", "cls.seq_relationship", *KEPT_TWICE),
        ours_only=() if has_head else ("head",),
    )
