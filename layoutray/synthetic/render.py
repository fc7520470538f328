"""Generate receipts, invoices, letters and forms with known fields, to train on, for the demo and for tests.

    <root>/index.json               {"train": [key, …], "dev": […], "test": […]}, a random split of 70/10/20
    <root>/images/<key>.png         8-bit grey
    <root>/annotations/<key>.json   {"words": [{"text", "box" (pixels), "tag" (IOB2), "line"}], "fields": {kind: value}}

A word of a line item also has "group", the number of the item in its document. Line items, and the entities of forms,
are not in "fields". A document of several pages is images/<key>.tiff, and has "pages" instead of "words": [{"width",
"height" (pixels), "words"}].

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
from layoutray.synthetic import layouts
from layoutray.synthetic.canvas import Canvas
from layoutray.synthetic.layouts import LAYOUTS, WITH_GOODS
from layoutray.synthetic.scan import scanned

Drawn = tuple[Canvas, int]
"""A page, and its used height in pixels."""
Draw = Callable[[Random], Drawn | list[Drawn]]
"""Draws a document with random content, of one page or of several."""


def bill(random: Random) -> Drawn:
    """A document of any kind; its goods, if it has any, are no entities."""
    kinds, shares = zip(*LAYOUTS, strict=True)
    return layouts.draw(random, random.choices(kinds, shares)[0])


def itemised_bill(random: Random) -> Drawn:
    """A receipt or an invoice whose goods are line items."""
    return layouts.draw(random, random.choice(WITH_GOODS), itemised=True)


def render_set(root: str | Path, count: int, seed: int, draw: Draw = bill) -> None:
    """Write `count` documents below a folder or address. The index is written last; a set with an index is complete.

    Raises:
        InputError: if `count` is below three, which cannot be split into train, dev and test.
    """
    if count < 3:
        raise InputError(f"count is {count}, must be at least 3: one document each for train, dev and test")
    keys = [f"{number:05}" for number in range(count)]
    for number, key in enumerate(keys):
        # A document depends only on the seed and its number: a larger set starts with the documents of a smaller one.
        (first, *others), annotation = document(Random(f"{seed}/{number}"), draw)
        picture = io.BytesIO()
        if "words" in annotation:
            first.save(picture, "PNG", compress_level=1)
        else:
            first.save(picture, "TIFF", save_all=True, append_images=others, compression="tiff_adobe_deflate")
        name = f"{key}.png" if "words" in annotation else f"{key}.tiff"
        shards.write_bytes(picture.getvalue(), sources.join(root, "images"), name)
        shards.write_bytes(json.dumps(annotation, indent=1).encode(), sources.join(root, "annotations"), f"{key}.json")
    shards.write_bytes(json.dumps(_splits(keys, Random(seed)), indent=1).encode(), str(root), "index.json")


def render_page(random: Random, page: Callable[[Random], Drawn] = bill) -> tuple[Image.Image, dict[str, Any]]:
    """A document of one page, and the content of its annotation file."""
    (image,), annotation = document(random, page)
    return image, annotation


def document(random: Random, draw: Draw) -> tuple[list[Image.Image], dict[str, Any]]:
    """The pages of a document, and the content of its annotation file."""
    drawn = draw(random)
    pages = drawn if isinstance(drawn, list) else [drawn]
    images: list[Image.Image] = []
    annotated: list[dict[str, Any]] = []
    kinds: set[str] = set()
    for canvas, height in pages:
        used = canvas.image.crop((0, 0, canvas.width, min(height, canvas.image.height)))
        image, marks = scanned(used, canvas.marks, random, canvas.tilt)
        words = [
            {"text": mark.text, "box": mark.box, "tag": mark.tag, "line": mark.line}
            | ({} if mark.group is None else {"group": mark.group})
            for mark in marks
        ]
        images.append(image)
        annotated.append({"width": image.width, "height": image.height, "words": words})
        kinds |= {split_tag(mark.tag)[1] for mark in marks}
    fields = {kind: value for kind, value in pages[0][0].values.items() if kind in kinds}
    one = not isinstance(drawn, list)
    return images, ({"words": annotated[0]["words"]} if one else {"pages": annotated}) | {"fields": fields}


def _splits(keys: list[str], random: Random) -> dict[str, list[str]]:
    shuffled = random.sample(keys, len(keys))
    dev = max(1, round(len(keys) / 10))
    held_out = dev + max(1, round(len(keys) / 5))
    return {
        "train": sorted(shuffled[held_out:]),
        "dev": sorted(shuffled[:dev]),
        "test": sorted(shuffled[dev:held_out]),
    }
