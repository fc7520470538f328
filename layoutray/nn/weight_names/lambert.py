"""Parameter names of LAMBERT in its authors' release <-> ours (an encoder and a head within a task model).

The release wraps a model of the transformers library and registers its parts again under other names. A file can hold
each tensor under up to three names, or under any one of them.
"""

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import EMBEDDINGS, bert, layers
from layoutray.nn.weight_names.masked_lm import BERT_HEAD, CLASSIFIER, KEPT_TWICE, ROBERTA_HEAD

_SIDES = ("sequential", "horizontal", "vertical")


def table(names: frozenset[str]) -> NameTable:
    """The table for a file with these names: a model with classifier, or an encoder alone."""
    has_head = any(name.startswith("lambert.") for name in names)
    body = "lambert." if has_head else ""
    return NameTable(
        (
            *bert(f"{body}roberta.", "encoder."),
            (f"{body}embeddings.adapter_layer", "encoder.layout.adapter"),
            *((f"{body}relative_bias.{side}_bias.biases", f"encoder.relative_bias.{side}") for side in _SIDES),
            ("classifier", "head.classifier"),
            # Duplicates of the tensors above.
            *((f"{body}embeddings.roberta_embs.{name}", f"encoder.{own}") for name, own in EMBEDDINGS),
            *layers(body, "encoder."),
            *bert("roberta.roberta.", "encoder."),
            ("roberta.classifier", "head.classifier"),
        ),
        dropped=(
            *(f"{wrapped}.position_ids" for wrapped in (f"{body}roberta.embeddings", f"{body}embeddings.roberta_embs")),
            "roberta.roberta.embeddings.position_ids",
            *(f"{owner}pooler" for owner in (body, f"{body}roberta.", "roberta.roberta.")),
        ),
        ours_only=("encoder.position_dropout", *(() if has_head else ("head",))),
    )


def without_layout(core: str) -> NameTable:
    """The table of a model without layout and the `bert` or `roberta` of the transformers library, which it is."""
    head = ROBERTA_HEAD if core == "roberta" else BERT_HEAD
    return NameTable(
        (*bert(f"{core}.", "encoder."), *head, CLASSIFIER),
        dropped=KEPT_TWICE,
        ours_only=("encoder.position_dropout",),
    )
