"""What a Label Studio project gives back, made of what it was given."""

import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from layoutray.document import Page
from layoutray.formats.label_studio import spans_of, task
from layoutray.readers import Truth, load
from tests.readers.native import only

Results = list[dict[str, Any]]


def exported(pages: Sequence[Page]) -> list[dict[str, Any]]:
    return [task(page, spans_of(page), f"/data/local-files/?d={page.number}.png", "layoutray") for page in pages]


def annotation(results: Results, at: str = "2026-01-01T12:00:00.000000Z", **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "result": results,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": at,
        "updated_at": at,
        **more,
    }


def submitted(tasks: Sequence[dict[str, Any]], edit: Callable[[Results], Results] = list) -> list[dict[str, Any]]:
    """The export of a project where a person took each prediction over, changed it by `edit`, and submitted it."""
    return [
        {
            "id": number,
            "data": one["data"],
            "annotations": [annotation(edit(copy.deepcopy(one["predictions"][0]["result"])))],
            "predictions": [number],
        }
        for number, one in enumerate(tasks, start=1)
    ]


def write(folder: Path, tasks: Sequence[dict[str, Any]], name: str = "project-1.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(tasks), encoding="utf-8")
    return folder


def read_back(folder: Path, tasks: Sequence[dict[str, Any]], pictures: Sequence[str] = ()) -> Truth:
    return only(load("label_studio", pictures=pictures), write(folder, tasks))
