"""The systems of the LAMBERT paper (arXiv:2002.08087, first version): its table of results, and its appendix' other layout embeddings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from layoutray.errors import InputError
from layoutray.recipe import Recipe

_SHARED = ("hidden", "layers", "heads", "feed_forward", "max_length", "segments", "norm_epsilon")


@dataclass(frozen=True, slots=True)
class System:
    """A row of the table.

    Attributes:
        model: keys of a recipe's [model], beside those that `sizes` gives.
        trained: on the pages, before it is fine-tuned.
    """

    model: Mapping[str, Any]
    trained: bool = True


_PLAIN = {"layout": "none", "position_dropout": "none"}
_SHORT = {"adapter": "gentle"}
"""Trainings here are too short to recover from the paper's."""
_WITH_POSITIONS = _SHORT | {"position_dropout": "none"}

SYSTEMS: Mapping[str, System] = {
    "Fine-tuned only": System(_PLAIN, trained=False),
    "Trained without layout": System(_PLAIN),
    "LAMBERT with positions": System(_WITH_POSITIONS),
    "LAMBERT": System(_SHORT),
}
"""The paper's table in its order. Without layout and with its positions, `lambert` is the trained encoder that it starts from, number by
number, so that the rows differ in what they are named by alone."""

LAYOUTS: Mapping[str, System] = {
    "LAMBERT with positions": SYSTEMS["LAMBERT with positions"],
    "LAMBERT with graph": System(_WITH_POSITIONS | {"layout": "graph"}),
    "LAMBERT with autoencoder": System(_WITH_POSITIONS | {"layout": "autoencoder"}),
}
"""The appendix' layout embeddings beside the winding one. All keep their positions: dropping them in trainings as short as these costs so
much that it hides what the embeddings differ in."""

PAPER_F1: Mapping[str, Mapping[str, float]] = {
    "kleister-nda": {
        "Fine-tuned only": 74.2,
        "Trained without layout": 76.7,
        "LAMBERT with positions": 75.0,
        "LAMBERT": 75.7,
    },
    "sroie": {"Fine-tuned only": 94.0, "Trained without layout": 93.5, "LAMBERT with positions": 94.6, "LAMBERT": 95.0},
}
"""F1 in percent: of RoBERTa-base, trained on 750,467 pages; GEval's for Kleister-NDA and the competition's (exact) for SROIE."""


def sizes(start: Recipe) -> dict[str, Any]:
    """Keys of [model] by which a LAMBERT can start from a checkpoint of the recipe `start`.

    Raises:
        InputError: when it is of an architecture that LAMBERT does not start from.
    """
    if start.arch not in ("hf", "lambert"):
        raise InputError(f"the starting checkpoint is of architecture {start.arch}; LAMBERT starts from hf or lambert")
    core = start.model["model_type" if start.arch == "hf" else "core"]
    return {"core": core, **{name: start.model[name] for name in _SHARED}}
