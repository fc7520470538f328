"""The job of an output folder: everything that its content depends on. The same job continues, another is refused."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from layoutray.errors import InputError
from layoutray.store import shards, sources

_FILE = "job.json"


def claim(folder: str, job: Mapping[str, Any], parts: Sequence[str] = ("",)) -> None:
    """Make `folder` that of `job`, unless it is already. Arguments and errors are those of `owns`."""
    if not owns(folder, job, parts):
        shards.write_bytes(json.dumps(job, indent=2, ensure_ascii=False).encode(), folder, _FILE)


def owns(folder: str, job: Mapping[str, Any], parts: Sequence[str] = ("",)) -> bool:
    """Whether `folder` is that of `job`. False if it is new.

    Args:
        job: plain values.
        parts: folders in `folder` that must be empty if no job owns it; by default the whole folder.

    Raises:
        InputError: if another job owns the folder, or no job does and its parts are not empty.
    """
    uri = sources.join(folder, _FILE)
    if not sources.exists(uri):
        if any(next(sources.list_files(sources.join(folder, part)), None) for part in parts):
            raise InputError(f"{folder} has content but no {_FILE}, so no job can continue there; give another --out")
        return False
    # Through JSON: a tuple is a list there.
    ours, theirs = (
        dict(_flat(values)) for values in (json.loads(json.dumps(job)), json.loads(sources.read_bytes(uri)))
    )
    different = [
        f"{name} is {_shown(theirs, name)} there and {_shown(ours, name)} here"
        for name in sorted(ours.keys() | theirs.keys())
        if _shown(ours, name) != _shown(theirs, name)
    ]
    if different:
        raise InputError(
            f"{folder} belongs to another job: {'; '.join(different)}; give another --out, "
            "or repeat the command of that job to continue it"
        )
    return True


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values of nested dicts by dotted path."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _shown(values: Mapping[str, Any], name: str) -> str:
    return json.dumps(values[name], ensure_ascii=False) if name in values else "absent"
