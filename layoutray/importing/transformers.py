"""BERT, RoBERTa or LayoutLM as saved by the transformers library.

The checkpoint is a trained start of `hf` models and of architectures that inherit from them.

Encoders and masked language models can be imported; without a head, the checkpoint gets a newly initialised one.
Instead of a folder, the name of a model in the library's local cache can be given; nothing is downloaded.
"""

from collections.abc import Sequence
from pathlib import Path

from transformers.utils.hub import cached_file

from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.importing.folder import CONFIG, assemble, build_recipe, read_bert, read_config, read_weights
from layoutray.nn.weight_names import peers

_MODEL_TYPES = ("bert", "roberta", "layoutlm")
_OLD_ENDINGS = {".gamma": ".weight", ".beta": ".bias"}
"""Names of LayerNorm parameters in the first BERTs -> current names."""


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.importing.Importer`."""
    source = _local_folder(folder)
    theirs = read_config(source)
    model_type = theirs.get("model_type")
    if model_type not in _MODEL_TYPES:
        raise CheckpointError(
            f"{source / CONFIG} has model_type {model_type!r}; it must be one of {', '.join(_MODEL_TYPES)}"
        )
    settings = read_bert(source, theirs, model_type, {})
    model = {"arch": "hf", "model_type": model_type, **settings}
    weights = {_current_name(name): tensor for name, tensor in read_weights(source).items()}
    recipe = build_recipe(folder, {"name": "masked_lm"}, model, settings["max_length"], overrides)
    return assemble(source / CONFIG, theirs, recipe, peers.table(model_type, frozenset(weights)), weights)


def _local_folder(folder: Path) -> Path:
    """`folder`, or the folder of the model of this name in the library's cache."""
    if folder.is_dir():
        return folder
    try:
        config = cached_file(folder.as_posix(), "config.json", local_files_only=True)
    except OSError as error:
        raise CheckpointError(
            f"{folder} is neither a folder nor a model in the local cache of the transformers library; "
            f"run `hf download {folder} --local-dir FOLDER` on a machine with a network connection, and import FOLDER"
        ) from error
    assert config is not None, "cached_file raises OSError for a missing file"
    return Path(config).parent


def _current_name(name: str) -> str:
    for old, new in _OLD_ENDINGS.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name


IMPORTER = read
