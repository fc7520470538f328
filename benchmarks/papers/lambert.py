"""Systems of the LAMBERT paper (arXiv:2002.08087v1): table of results, and layout embeddings of the appendix."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from layoutray.errors import InputError
from layoutray.recipe.recipes import Recipe

_SHARED = ("hidden", "layers", "heads", "feed_forward", "max_length", "segments", "norm_epsilon")


@dataclass(frozen=True, slots=True)
class LambertSystem:
    """A row of the table.

    Attributes:
        model: keys of a recipe's [model], in addition to those of `sizes`.
        trained: whether it is trained on the pages before it is fine-tuned.
    """

    model: Mapping[str, Any]
    trained: bool = True


_PLAIN = {"layout": "none", "position_dropout": "none"}
_SHORT = {"adapter": "gentle"}
"""With so few steps a training does not recover from the paper's initialisation of the adapter."""
_WITH_POSITIONS = _SHORT | {"position_dropout": "none"}

SYSTEMS: Mapping[str, LambertSystem] = {
    "Fine-tuned only": LambertSystem(_PLAIN, trained=False),
    "Trained without layout": LambertSystem(_PLAIN),
    "LAMBERT with positions": LambertSystem(_WITH_POSITIONS),
    "LAMBERT": LambertSystem(_SHORT),
}
"""The rows of the paper's table, in its order.

Without layout and with positions, `lambert` computes exactly what the encoder that it starts from computes. So the rows
differ only in what their names say.
"""

LAYOUTS: Mapping[str, LambertSystem] = {
    "LAMBERT with positions": SYSTEMS["LAMBERT with positions"],
    "LAMBERT with graph": LambertSystem(_WITH_POSITIONS | {"layout": "graph"}),
    "LAMBERT with autoencoder": LambertSystem(_WITH_POSITIONS | {"layout": "autoencoder"}),
}
"""The layout embeddings of the appendix, compared with the winding embedding.

All keep position embeddings: in short trainings the loss from dropping them would hide the differences.
"""

PAPER_F1: Mapping[str, Mapping[str, float]] = {
    "kleister-nda": {
        "Fine-tuned only": 74.2,
        "Trained without layout": 76.7,
        "LAMBERT with positions": 75.0,
        "LAMBERT": 75.7,
    },
    "sroie": {"Fine-tuned only": 94.0, "Trained without layout": 93.5, "LAMBERT with positions": 94.6, "LAMBERT": 95.0},
}
"""F1 in percent of RoBERTa-base trained on 750,467 pages: GEval's for Kleister-NDA, exact match for SROIE."""


def sizes(start: Recipe) -> dict[str, Any]:
    """Keys of [model] with which a LAMBERT can start from a checkpoint of the recipe `start`.

    Raises:
        InputError: when LAMBERT cannot start from its architecture.
    """
    if start.arch not in ("hf", "lambert"):
        raise InputError(f"the starting checkpoint has architecture {start.arch}; LAMBERT can start from hf or lambert")
    core = start.model["model_type" if start.arch == "hf" else "core"]
    return {"core": core, **{name: start.model[name] for name in _SHARED}}
