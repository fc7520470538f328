"""A BERT, RoBERTa or LayoutLM as the transformers library saves it: a trained start for peers of its type, and for what inherits from them.

Encoders and masked language models are taken; where there is no head, ours stays freshly drawn. A name on a hub is taken where the library
has that model on this machine; nothing is downloaded.
"""

from collections.abc import Sequence
from pathlib import Path

from transformers.utils.hub import cached_file

from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.importing.folder import CONFIG, assemble, read_bert, read_config, read_weights, build_recipe
from layoutray.nn.weight_names import peers

_MODEL_TYPES = ("bert", "roberta", "layoutlm")
_OLD_ENDINGS = {".gamma": ".weight", ".beta": ".bias"}
"""How the first BERTs call the parameters of a LayerNorm."""


def read(folder: Path, overrides: Sequence[str]) -> Checkpoint:
    """See `layoutray.importing.Importer`."""
    where = _on_this_machine(folder)
    theirs = read_config(where)
    model_type = theirs.get("model_type")
    if model_type not in _MODEL_TYPES:
        raise CheckpointError(
            f"{where / CONFIG} has model_type {model_type!r}; {', '.join(_MODEL_TYPES)} can be imported"
        )
    settings = read_bert(where, theirs, model_type, {})
    model = {"arch": "hf", "model_type": model_type, **settings}
    weights = {_present(name): tensor for name, tensor in read_weights(where).items()}
    chosen = build_recipe(folder, {"name": "masked_lm"}, model, settings["max_length"], overrides)
    return assemble(where / CONFIG, theirs, chosen, peers.table(model_type, frozenset(weights)), weights)


def _on_this_machine(folder: Path) -> Path:
    """`folder`, or where the library keeps the model that is called so."""
    if folder.is_dir():
        return folder
    try:
        found = cached_file(folder.as_posix(), "config.json", local_files_only=True)
    except OSError as error:
        raise CheckpointError(
            f"{folder} is no folder here, and the transformers library has no model of that name on this machine; "
            f"where there is a network, `hf download {folder} --local-dir FOLDER` makes a folder: bring that here and give it"
        ) from error
    assert found is not None, "a missing file is an error unless asked otherwise"
    return Path(found).parent


def _present(name: str) -> str:
    return next((name.removesuffix(old) + new for old, new in _OLD_ENDINGS.items() if name.endswith(old)), name)


IMPORTER = read
