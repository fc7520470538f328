"""Generate receipts, invoices, letters and forms with known fields, to train on, for the demo and for tests.

    <root>/index.json               {"train": [key, …], "dev": […], "test": […]}, a random split of 70/10/20
    <root>/images/<key>.png         8-bit grey
    <root>/annotations/<key>.json   {"words": [{"text", "box" (pixels), "tag" (IOB2), "line"}], "fields": {kind: value}}

A word of a line item also has "group", the number of the item on its page. Line items, and the entities of forms, are
not in "fields".

Every page has its own random numbers: layout, fonts, values and noise. The same count and seed give the same bytes.
"""

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from layoutray.document.tags import split_tag
from layoutray.errors import InputError
from layoutray.store import shards, sources
from layoutray.synthetic.canvas import Canvas
from layoutray.synthetic.layouts import LAYOUTS, WITH_GOODS, draw
from layoutray.synthetic.scan import scanned

Draw = Callable[[Random], tuple[Canvas, int]]
"""Draws a page with random content; returns it with the used height in pixels."""


def bill(random: Random) -> tuple[Canvas, int]:
    """A document of any kind; its goods, if it has any, are no entities."""
    layouts, shares = zip(*LAYOUTS, strict=True)
    return draw(random, random.choices(layouts, shares)[0])


def itemised_bill(random: Random) -> tuple[Canvas, int]:
    """A receipt or an invoice whose goods are line items."""
    return draw(random, random.choice(WITH_GOODS), itemised=True)


def render_set(root: str | Path, count: int, seed: int, page: Draw = bill) -> None:
    """Write `count` pages below a folder or address. The index is written last; a set with an index is complete.

    Args:
        page: draws each page.

    Raises:
        InputError: if `count` is below three, which cannot be split into train, dev and test.
    """
    if count < 3:
        raise InputError(f"count is {count}, must be at least 3: one page each for train, dev and test")
    keys = [f"{number:05}" for number in range(count)]
    for number, key in enumerate(keys):
        # A page depends only on the seed and its number: a larger set starts with the pages of a smaller one.
        image, annotation = render_page(Random(f"{seed}/{number}"), page)
        png = io.BytesIO()
        image.save(png, "PNG", compress_level=1)
        shards.write_bytes(png.getvalue(), sources.join(root, "images"), f"{key}.png")
        shards.write_bytes(json.dumps(annotation, indent=1).encode(), sources.join(root, "annotations"), f"{key}.json")
    shards.write_bytes(json.dumps(_splits(keys, Random(seed)), indent=1).encode(), str(root), "index.json")


def render_page(random: Random, page: Draw = bill) -> tuple[Image.Image, dict[str, Any]]:
    """One page and the content of its annotation file."""
    canvas, height = page(random)
    used = canvas.image.crop((0, 0, canvas.width, min(height, canvas.image.height)))
    image, marks = scanned(used, canvas.marks, random)
    words = [
        {"text": mark.text, "box": mark.box, "tag": mark.tag, "line": mark.line}
        | ({} if mark.group is None else {"group": mark.group})
        for mark in marks
    ]
    kinds = {split_tag(mark.tag)[1] for mark in marks}
    fields = {kind: value for kind, value in canvas.values.items() if kind in kinds}
    return image, {"words": words, "fields": fields}


def _splits(keys: list[str], random: Random) -> dict[str, list[str]]:
    shuffled = random.sample(keys, len(keys))
    dev = max(1, round(len(keys) / 10))
    held_out = dev + max(1, round(len(keys) / 5))
    return {
        "train": sorted(shuffled[held_out:]),
        "dev": sorted(shuffled[:dev]),
        "test": sorted(shuffled[dev:held_out]),
    }
