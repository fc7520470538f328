"""Parameter names of BERT, RoBERTa, LayoutLM, LiLT and Longformer in the transformers library <-> ours (`hf`)."""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.masked_lm import BERT_HEAD, CLASSIFIER, KEPT_TWICE, ROBERTA_HEAD


def table(model_type: str, names: frozenset[str]) -> NameTable:
    """The table for a file with these names: a model with a head, or an encoder, whose prefix is optional.

    Dropped are tensors that our models do not use: the pooler, the head of next sentence prediction, position ids.
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
