"""The release of LAMBERT (arXiv:2002.08087): applicaai/lambert on GitHub.

Its modules wrap a RoBERTa of the transformers library and save nothing by themselves: the folder holds the `state_dict` of its
`LambertForTokenClassification` or `LambertModel` beside the RoBERTa's config.json and vocabulary, and a `labels.json` where the
configuration does not name the outputs. Where there is no classifier, the head of a masked language model is freshly drawn.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.importing.folder import CONFIG, assemble, read_bert, read_config, read_weights, build_recipe
from layoutray.nn.weight_names import NameTable, lambert

_FIXED = {"model_type": "roberta", "layout_base": 500}
_RELEASED = {
    "winding": "released",
    "layout_joins": "after_norm",
    "position_dropout": "none",
    "relative_bias": "buckets",
}


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.importing.Importer`."""
    theirs = {"model_type": "roberta"} | read_config(folder)
    settings = read_bert(folder, theirs, "lambert", _FIXED)
    weights = read_weights(folder)
    names = lambert.table(frozenset(weights))
    task = "masked_lm" if names.is_ours_only("head") else "layout_labels"
    chosen = build_recipe(
        folder, {"name": task}, {"arch": "lambert", **_RELEASED, **settings}, settings["max_length"], overrides
    )
    return assemble(folder / CONFIG, theirs, chosen, names, _once(weights, names, folder))


def _once(weights: Mapping[str, Tensor], names: NameTable, folder: Path) -> dict[str, Tensor]:
    """Each tensor under one name, of which the release has up to three. Raises CheckpointError where they differ."""
    once: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if names.is_dropped(name):
            continue
        first = names.to_theirs(names.to_ours(name))
        if not torch.equal(once.setdefault(first, tensor), tensor):
            raise CheckpointError(
                f"{name} in {folder} is another tensor than {first}, which in the release is the same"
            )
    return once


IMPORTER = read
