"""Which kind of labelled documents a folder has."""

import json
import re
from collections.abc import Iterable
from itertools import islice

from layoutray.errors import InputError
from layoutray.readers.annotation import file_name
from layoutray.store import sources

_VALUES = re.compile(r"values\.(csv|jsonl)")
_REVIEWED = re.compile(r"review\.db|reviewed.*\.jsonl")
_LOOKED_AT = 100
"""Files NAME.json that are opened."""


def reader_of(root: str) -> str:
    """The reader of a folder of labelled documents: `values`, `reviewed` or `label_studio`.

    Raises:
        InputError: if the folder has none of their files, or those of several readers.
    """
    files = list(sources.list_files(root))
    names = [file_name(uri).name for uri in files]
    found = {
        "values": any(map(_VALUES.fullmatch, names)),
        "reviewed": any(map(_REVIEWED.fullmatch, names)),
        "label_studio": _has_export(uri for uri in files if file_name(uri).suffix.lower() == ".json"),
    }
    readers = [name for name, has_files in found.items() if has_files]
    if not readers:
        state = "has no labelled documents" if sources.exists(root) else "does not exist"
        raise InputError(
            f"{root} {state}; looked among its {len(files)} files for values.csv or values.jsonl "
            "(files with their values), review.db or reviewed.jsonl (documents that were finished on the review "
            "page), and a Label Studio export in the format JSON; give the folder that has them"
        )
    if len(readers) > 1:
        raise InputError(f"{root} has files of several kinds: {', '.join(readers)}; give a folder with one kind")
    return readers[0]


def _has_export(files: Iterable[str]) -> bool:
    """Whether a file is a list of Label Studio's tasks."""
    for uri in islice(files, _LOOKED_AT):
        try:
            tasks = json.loads(sources.read_bytes(uri))
        except ValueError:
            continue
        first = tasks[0] if isinstance(tasks, list) and tasks else None
        if isinstance(first, dict) and "data" in first and first.keys() & {"annotations", "completions"}:
            return True
    return False
