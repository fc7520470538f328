"""Results of measuring a checkpoint, kept in its folder for the next call with the same pages."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.evaluation.page_selection import PageSelection
from layoutray.store import shards, sources


def kept(
    folder: str, name: str, selection: PageSelection, make: Callable[[Checkpoint, PageSelection], Mapping[str, Any]]
) -> dict[str, Any]:
    """The result `name` of the checkpoint in `folder` on the selected pages, made unless it is kept.

    Args:
        make: gives the result, as values that JSON can hold.
    """
    loaded = checkpoint.load(folder)
    file = f"{name}-{selection.name}.json"
    made_from = {"version": loaded.version, "excluded": sorted(selection.excluded), "pages": _shards(selection)}
    if sources.exists(sources.join(folder, file)):
        found = json.loads(sources.read_bytes(sources.join(folder, file)))
        if found["made_from"] == made_from:
            return found["result"]
    content = json.dumps({"made_from": made_from, "result": make(loaded, selection)})
    shards.write_bytes(content.encode(), folder, file)
    return json.loads(content)["result"]


def _shards(selection: PageSelection) -> list[str]:
    """The files of the pages, whose names follow from their content."""
    return [uri for data_set in selection.data_sets for uri in shards.shards(data_set.pages)]
