"""What a folder contains, by the names in it: for messages about a folder of another kind."""

from pathlib import Path

from layoutray.store import sources

DATA_SET, EXAMPLES, CHECKPOINT, ANSWERS = "a data set", "a set of examples", "a checkpoint", "a folder of answers"

_NAMES = {
    EXAMPLES: ("dataset.json", "prepared.json"),
    CHECKPOINT: ("model.safetensors", "recipe.json"),
    ANSWERS: ("answers.json", "parquet"),
    DATA_SET: ("manifest.json", "mix.json", "pages"),
}


def kind_of(folder: Path) -> str:
    """Such as `a data set`; empty for any other folder, and for none."""
    return next((kind for kind, names in _NAMES.items() if any((folder / name).exists() for name in names)), "")


def found_at(folder: str) -> str:
    """What there is instead of the folder that was expected, as the end of a sentence; empty if that is not known."""
    local = sources.local_path(folder)
    if local is None:
        return ""
    if not local.exists():
        return "it does not exist"
    if not local.is_dir():
        return "it is a file"
    if not any(local.iterdir()):
        return "it is empty"
    return f"it is {kind}" if (kind := kind_of(local)) else ""
