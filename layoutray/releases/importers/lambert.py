"""The release of LAMBERT (arXiv:2002.08087): applicaai/lambert on GitHub.

The modules of the release wrap a RoBERTa of the transformers library and have no method to save themselves. The folder
contains the `state_dict` of a `LambertForTokenClassification` or `LambertModel`, the RoBERTa's config.json and
vocabulary, and a `labels.json` if the configuration does not name the outputs. As the modules register parts of the
RoBERTa again under other names, a file can hold each tensor under up to three names, or under any one of them. Without
a classifier, the checkpoint gets a newly initialised masked-LM head.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import CLASSIFIER, EMBEDDINGS, bert, layers, prefixed
from layoutray.releases.folder import CONFIG, assemble, build_recipe, read_bert, read_config, read_weights

_FIXED = {"model_type": "roberta", "layout_base": 500}
_RELEASED = {
    "winding": "released",
    "layout_joins": "after_norm",
    "position_dropout": "none",
    "relative_bias": "buckets",
}


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.releases.importers.Importer`."""
    theirs = {"model_type": "roberta"} | read_config(folder)
    settings = read_bert(folder, theirs, "lambert", _FIXED)
    weights = read_weights(folder)
    names = name_table(frozenset(weights))
    task = "masked_lm" if names.is_ours_only("head") else "layout_labels"
    recipe = build_recipe(
        folder, {"name": task}, {"arch": "lambert", **_RELEASED, **settings}, settings["max_length"], overrides
    )
    unique: dict[str, Tensor] = {}  # each tensor under one of its up to three names
    for name, tensor in weights.items():
        if names.is_dropped(name):
            continue
        first = names.to_theirs(names.to_ours(name))
        if not torch.equal(unique.setdefault(first, tensor), tensor):
            raise CheckpointError(f"{name} in {folder} differs from {first}; in the release, both are the same tensor")
    return assemble(folder / CONFIG, theirs, recipe, names, unique)


def name_table(names: frozenset[str]) -> NameTable:
    """The release's parameter names <-> ours, for a file with `names`: a model with classifier, or an encoder alone."""
    has_head = any(name.startswith("lambert.") for name in names)
    body = "lambert." if has_head else ""
    sides = ("sequential", "horizontal", "vertical")
    return NameTable(
        (
            *bert(f"{body}roberta.", "encoder."),
            (f"{body}embeddings.adapter_layer", "encoder.layout.adapter"),
            *((f"{body}relative_bias.{side}_bias.biases", f"encoder.relative_bias.{side}") for side in sides),
            CLASSIFIER,
            # Duplicates of the tensors above.
            *prefixed(f"{body}embeddings.roberta_embs.", "encoder.", EMBEDDINGS),
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


IMPORTER = read
