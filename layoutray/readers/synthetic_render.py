"""Render a set of synthetic receipts and forms with known answers, for the demonstration and for tests.

    <root>/index.json               {"train": [key, …], "dev": […], "test": […]}, 70/10/20
    <root>/images/<key>.png         8-bit grey, 800-1000 pixels wide
    <root>/annotations/<key>.json   {"words": [{"text", "box" (pixels), "tag" (IOB2), "line"}], "fields": {type: value}}

The same count and seed give the same bytes.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from layoutray.document.tags import spans
from layoutray.errors import InputError
from layoutray.readers.synthetic_canvas import Mark, cropped, scanned
from layoutray.readers.synthetic_layouts import LAYOUTS
from layoutray.readers.synthetic_text import invent_bill


def render_set(root: Path, count: int, seed: int) -> None:
    """Write `count` pages below the local folder `root`; the index comes last, so a set with an index is whole.

    Raises:
        InputError: for fewer than three pages, which cannot be split into train, dev and test.
    """
    if count < 3:
        raise InputError(f"count is {count}, must be at least 3: one page each for train, dev and test")
    for folder in ("images", "annotations"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    keys = [f"{number:05}" for number in range(count)]
    for number, key in enumerate(keys):
        # A page depends on the seed and its number alone, so a larger set begins with the smaller one.
        image, annotation = render_page(Random(f"{seed}/{number}"))
        image.save(root / "images" / f"{key}.png", compress_level=1)
        _write_json(root / "annotations" / f"{key}.json", annotation)
    _write_json(root / "index.json", _splits(keys, Random(seed)))


def render_page(random: Random) -> tuple[Image.Image, dict[str, Any]]:
    """One page and what its annotation file says."""
    canvas, height = random.choice(LAYOUTS)(invent_bill(random), random)
    image, marks = scanned(*cropped(canvas, height), random)
    words = [{"text": mark.text, "box": mark.box, "tag": mark.tag, "line": mark.line} for mark in marks]
    return image, {"words": words, "fields": _fields(marks)}


def _fields(marks: list[Mark]) -> dict[str, str]:
    return {
        kind: " ".join(mark.text for mark in marks[start:end])
        for kind, start, end in spans([mark.tag for mark in marks])
    }


def _splits(keys: list[str], random: Random) -> dict[str, list[str]]:
    shuffled = random.sample(keys, len(keys))
    dev = max(1, round(len(keys) / 10))
    held_out = dev + max(1, round(len(keys) / 5))
    return {
        "train": sorted(shuffled[held_out:]),
        "dev": sorted(shuffled[:dev]),
        "test": sorted(shuffled[dev:held_out]),
    }


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
