"""The release of "Skim-Attention: Learning to Focus via Document Layout" (arXiv:2109.01078).

On GitHub: recitalAI/skim-attention.

Supports its four values of `model_type`, as its scripts save them after pretraining or fine-tuning. Settings that its
configuration does not contain are set by overrides: `model.layout=uniform` if the model was trained without boxes, and
`model.contextualiser_mask=reference_parity` for a contextualiser that sees padding, as in the release. Its `id2label`
may be out of date; a `labels.json` in the folder overrides it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.nn.weight_names import NameTable, skim_attention
from layoutray.releases.folder import (
    COMPUTED,
    CONFIG,
    ENCODER,
    assemble,
    build_recipe,
    read_config,
    read_settings,
    read_weights,
)

_ENCODER = ENCODER | {"hidden_layout_size": "layout_hidden", "max_2d_position_embeddings": "max_2d"}
_TABLES = {"max_position_embeddings": "max_length", "type_vocab_size": "segments"}
_SKIMMER = {
    "skim_attention_head_size": "skim_head_size",
    "num_hidden_layers_layout_encoder": "contextualiser_layers",
    "num_attention_heads_layout_encoder": "contextualiser_heads",
}
_VALUES = {"attention_head_size": "head_size"}
_MASK = {"top_k": "top_k", "core_model_type": "core"}

_BERT = COMPUTED | {"layer_norm_eps": 1e-12}
_BOXES = {"use_1d_positions": False, "degrade_2d_positions": False}
_LONGFORMER = _BERT | _BOXES | {"layer_norm_eps": 1e-5, "ignore_attention_mask": False}

_LONGEST = 2048
"""Maximum length of LongSkimformer in the paper. No table depends on it, and the release's configuration lacks it."""


@dataclass(frozen=True)
class _Kind:
    """One `model_type` of the release.

    Attributes:
        arch: our architecture.
        names: the release's parameter names <-> ours.
        settings: required settings of the release -> ours.
        fixed: settings for which our model supports only one value, the release's default.
    """

    arch: str
    names: NameTable
    settings: Mapping[str, str]
    fixed: Mapping[str, object]


_KINDS = {
    "skimformer": _Kind("skimformer", skim_attention.SKIMFORMER, _ENCODER | _TABLES | _SKIMMER | _VALUES, _BERT),
    "longskimformer": _Kind(
        "longskimformer",
        skim_attention.LONGSKIMFORMER,
        _ENCODER | _SKIMMER | _VALUES | {"attention_window": "window"},
        _LONGFORMER,
    ),
    "skimmingmask": _Kind(
        "skimming_mask", skim_attention.SKIMMING_MASK, _ENCODER | _TABLES | _SKIMMER | _MASK, _BERT | _BOXES
    ),
    "bertwithskimembed": _Kind("skim_embeddings", skim_attention.SKIM_EMBEDDINGS, _ENCODER | _TABLES, _BERT | _BOXES),
}
_VARIANTS = {"1d": skim_attention.POSITIONS, "degraded": skim_attention.DEGRADED}


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.releases.importers.Importer`."""
    theirs = read_config(folder)
    file = folder / CONFIG
    kind = _KINDS.get(theirs.get("model_type", ""))
    if kind is None:
        raise CheckpointError(
            f"{file} has model_type {theirs.get('model_type')!r}; it must be one of {', '.join(_KINDS)}"
        )
    weights = read_weights(folder)
    if "classifier.weight" in weights:
        task = "layout_labels"
    elif any(name.startswith(("cls.predictions.", "lm_head.")) for name in weights):
        task = "masked_lm"
    else:
        raise CheckpointError(
            f"the weights in {folder} have no head (classifier, cls.predictions or lm_head); import a model with a head"
        )
    model: dict[str, Any] = {"arch": kind.arch, **read_settings(file, theirs, kind.arch, kind.settings, kind.fixed)}
    positions = theirs.get("use_1d_positions", False)
    if "contextualiser_layers" in model and (positions or not theirs.get("contextualize_2d_positions", False)):
        model["contextualiser_layers"] = 0
    if kind.arch == "skimformer":
        model["layout"] = "1d" if positions else "degraded" if theirs.get("degrade_2d_positions", False) else "boxes"
    recipe = build_recipe(folder, {"name": task}, model, model.get("max_length", _LONGEST), overrides)
    return assemble(file, theirs, recipe, _VARIANTS.get(recipe.model.get("layout", ""), kind.names), weights)


IMPORTER = read
