"""Models as the transformers library saves them, and folders that `layoutray export huggingface` has written.

BERT, RoBERTa, LayoutLM, LiLT and Longformer become `hf` models, from which architectures that inherit from them start.
LayoutLMv3 without pictures becomes a `layoutlmv3`. The exported folder of another architecture becomes that one.

The head may be a masked language model's or label tokens; without a head, the checkpoint gets a newly initialised one.
Instead of a folder, the name of a model in the library's local cache can be given; nothing is downloaded.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers.utils.hub import cached_file

from layoutray.checkpoint import Checkpoint
from layoutray.document.tags import are_entity_tags
from layoutray.errors import CheckpointError
from layoutray.nn.weight_names import NameTable, bert
from layoutray.releases.folder import CONFIG, assemble, build_recipe, read_bert, read_config, read_labels, read_weights

_OLD_ENDINGS = {".gamma": ".weight", ".beta": ".bias"}
"""Names of LayerNorm parameters in the first BERTs -> current names."""
_LILT = {"channel_shrink_ratio": 4, "max_2d_position_embeddings": 1024}
_LAYOUTLMV3 = {
    "visual_embed": False,
    "has_relative_attention_bias": True,
    "has_spatial_attention_bias": True,
    "rel_pos_bins": 32,
    "max_rel_pos": 128,
    "rel_2d_pos_bins": 64,
    "max_rel_2d_pos": 256,
    "max_2d_position_embeddings": 1024,
}
_OURS = NameTable((("encoder", "encoder"), ("head", "head")))


@dataclass(frozen=True)
class _Source:
    """A folder that is imported: the settings in its config.json, and the weights by the current names."""

    folder: Path
    theirs: Mapping[str, Any]
    weights: Mapping[str, Tensor]


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.releases.importers.Importer`."""
    where = folder
    if not folder.is_dir():  # the name of a model in the library's cache
        try:
            where = Path(str(cached_file(folder.as_posix(), CONFIG, local_files_only=True))).parent
        except OSError as error:
            raise CheckpointError(
                f"{folder} is neither a folder nor a model in the local cache of the transformers library; "
                f"run `hf download {folder} --local-dir FOLDER` on a machine with a network connection, and import "
                "FOLDER"
            ) from error
    theirs = read_config(where)
    model_type = str(theirs.get("model_type"))
    if model_type not in _KINDS:
        raise CheckpointError(f"{where / CONFIG} has model_type {model_type!r}; it must be one of {', '.join(_KINDS)}")
    weights: dict[str, Tensor] = {}
    for name, tensor in read_weights(where).items():
        ending = next((old for old in _OLD_ENDINGS if name.endswith(old)), "")
        weights[name.removesuffix(ending) + _OLD_ENDINGS.get(ending, "")] = tensor
    source = _Source(where, theirs, weights)
    model, names = _KINDS[model_type](source)
    stated = _stated(source)
    task = stated.get("task") or {"name": _task(source)}
    longest = stated.get("max_length") or model["max_length"]
    made = assemble(
        where / CONFIG, theirs, build_recipe(folder, task, model, longest, overrides), names, source.weights
    )
    return replace(made, temperature=stated.get("temperature", 1.0))


def _peer(source: _Source) -> tuple[dict[str, Any], NameTable]:
    kind = source.theirs["model_type"]
    settings = read_bert(source.folder, source.theirs, kind, _LILT if kind == "lilt" else {})
    model = {"arch": "hf", "model_type": kind, **settings}
    return model, bert.peer_table(kind, frozenset(source.weights))


def _longformer(source: _Source) -> tuple[dict[str, Any], NameTable]:
    model, names = _peer(source)
    windows = source.theirs.get("attention_window")
    distinct = set(windows) if isinstance(windows, list) else {windows}
    if len(distinct) != 1:
        raise CheckpointError(
            f"{source.folder / CONFIG} has attention_window {windows!r}; our Longformer has one for all layers"
        )
    return model | {"window": distinct.pop()}, names


def _layoutlmv3(source: _Source) -> tuple[dict[str, Any], NameTable]:
    settings = read_bert(source.folder, source.theirs, "layoutlmv3 without pictures", _LAYOUTLMV3)
    return {"arch": "layoutlmv3", **settings}, bert.LAYOUTLMV3


def _ours(source: _Source) -> tuple[dict[str, Any], NameTable]:
    if not isinstance(source.theirs.get("settings"), dict) or not _stated(source):
        raise CheckpointError(
            f"{source.folder / CONFIG} lacks `settings` or `layoutray`; export the checkpoint again with "
            "`layoutray export huggingface`"
        )
    return {"arch": source.theirs.get("arch"), **source.theirs["settings"]}, _OURS


_KINDS: dict[str, Callable[[_Source], tuple[dict[str, Any], NameTable]]] = {
    **dict.fromkeys(("bert", "roberta", "layoutlm", "lilt"), _peer),
    "longformer": _longformer,
    "layoutlmv3": _layoutlmv3,
    "layoutray": _ours,
}
"""For each model_type, the function that gives the section [model] of the recipe and the names of parameters."""


def _stated(source: _Source) -> dict[str, Any]:
    """What `export huggingface` adds to config.json: task, max_length and temperature; empty for other folders."""
    match source.theirs.get("layoutray"):
        case None:
            return {}
        case {"task": dict(), "max_length": int(), "temperature": float() | int() as temperature} if temperature > 0:
            return source.theirs["layoutray"]
        case other:
            raise CheckpointError(
                f"`layoutray` is {other!r:.100} in {source.folder / CONFIG}; "
                "it must be an object with task, max_length and temperature"
            )


def _task(source: _Source) -> str:
    """The task of a folder that does not state one, from its head and labels."""
    classifier = source.weights.get("classifier.weight")
    kinds = source.theirs.get("architectures") or []
    if classifier is None:
        return "masked_lm"
    if not any(str(kind).endswith("ForTokenClassification") for kind in kinds):
        raise CheckpointError(
            f"{source.folder / CONFIG} has architectures {kinds}, a model with a classifier; "
            "it must be a ...ForTokenClassification, because our models label words"
        )
    labels = read_labels(source.folder, source.theirs, len(classifier))
    if not are_entity_tags(labels):
        return "layout_labels"
    return "entities_bioes" if any(label.startswith(("E-", "S-")) for label in labels) else "entities"


IMPORTER = read
