"""Degrade a drawn page as printers, scanners and phones do, and move the boxes of its words along."""

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from layoutray.synthetic.canvas import WHITE, Mark

_Box = tuple[float, float, float, float]
_Effect = Callable[[NDArray[np.float32], np.random.Generator], NDArray[np.float32]]


def scanned(image: Image.Image, marks: Sequence[Mark], random: Random, tilt: float) -> tuple[Image.Image, list[Mark]]:
    """The page and its words after a scan: narrowed, on a larger sheet, turned by about `tilt` degrees, lit unevenly.

    Every page has grey ink and paper; each effect is on a part of the pages.
    """
    factor = random.choice((1.0, 1.0, random.uniform(0.72, 1.0)))  # narrower letters, as tills print them
    narrowed = image.resize((round(image.width * factor), image.height), Image.Resampling.BILINEAR)
    image, marks = _placed(narrowed, [_moved(mark, factor=factor) for mark in marks], random)
    degrees = random.gauss(0, tilt)
    image = image.rotate(degrees, Image.Resampling.BILINEAR, fillcolor=WHITE)
    marks = [replace(mark, box=_rotated(mark.box, image.size, degrees)) for mark in marks]
    generator = np.random.default_rng(random.getrandbits(64))
    ink, paper = random.randint(0, 70), random.choice((255, 250, random.randint(222, 255)))
    pixels = ink + (paper - ink) / WHITE * np.asarray(image, dtype=np.float32)
    for share, effect in _EFFECTS:
        if random.random() < share:
            pixels = effect(pixels, generator)
    picture = Image.fromarray(pixels.clip(0, WHITE).astype(np.uint8))
    if random.random() < 0.3:
        picture = picture.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 0.8)))
    if random.random() < 0.4:
        held = io.BytesIO()
        picture.save(held, "JPEG", quality=random.randint(35, 90))
        picture = Image.open(held).convert("L")
    return picture, marks


def _placed(image: Image.Image, marks: Sequence[Mark], random: Random) -> tuple[Image.Image, Sequence[Mark]]:
    """The page on a larger sheet, as a scanner leaves it, on some pages."""
    if random.random() > 0.12:
        return image, marks
    right, down = (round(side * random.uniform(0.05, 0.5)) for side in image.size)
    sheet = Image.new("L", (image.width + round(right * random.uniform(1, 2)), image.height + 2 * down), WHITE)
    sheet.paste(image, (right, down))
    return sheet, [_moved(mark, right, down) for mark in marks]


def _moved(mark: Mark, right: float = 0.0, down: float = 0.0, factor: float = 1.0) -> Mark:
    """The mark on a page that was narrowed by `factor`, or moved."""
    x0, y0, x1, y1 = mark.box
    return replace(mark, box=(factor * x0 + right, y0 + down, factor * x1 + right, y1 + down))


def _speckled(pixels: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    count = int(pixels.size * generator.choice((0.0001, 0.0003)))
    pixels.ravel()[generator.integers(0, pixels.size, count)] = generator.integers(60, 220, count)
    return pixels


def _folded(pixels: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Dark bands across the page."""
    for _ in range(int(generator.integers(1, 4))):
        start = int(generator.integers(0, pixels.shape[0]))
        pixels[start : start + int(generator.integers(4, 40))] -= generator.integers(4, 15)
    return pixels


def _lit(pixels: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Light that falls off to a side."""
    rows, columns = (np.linspace(-1, 1, side, dtype=np.float32) for side in pixels.shape)
    down, right = generator.uniform(-0.12, 0.12, 2)
    return pixels * np.minimum(1.0, 0.97 + down * rows[:, None] + right * columns)


def _dotted(pixels: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Gaps in the ink, as the needles of a printer leave them."""
    rows = pixels[:: int(generator.integers(3, 5))]
    rows += float(generator.uniform(0.25, 0.6)) * (float(np.median(pixels)) - rows)
    return pixels


def _faint(pixels: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Ink that fades in stripes from top to bottom, as of a worn thermal head."""
    paper, width = float(np.median(pixels)), pixels.shape[1]
    faded = np.interp(np.arange(width), np.linspace(0, width, 9), generator.uniform(0.0, 0.55, 9)).astype(np.float32)
    return pixels + faded * (paper - pixels)


_EFFECTS: tuple[tuple[float, _Effect], ...] = (
    (0.3, _speckled), (0.4, _folded), (0.3, _lit), (0.2, _dotted), (0.25, _faint),
)  # fmt: skip
"""Shares of pages, and what is done to them."""


def _rotated(box: Sequence[float], size: tuple[int, int], degrees: float) -> _Box:
    """Bounds of `box` after an anticlockwise rotation about the centre, clipped to the page, rounded to 0.1 pixels."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    middle_x, middle_y = size[0] / 2, size[1] / 2
    corners = [(x - middle_x, y - middle_y) for x in (box[0], box[2]) for y in (box[1], box[3])]
    xs = [min(max(middle_x + x * cos + y * sin, 0.0), size[0]) for x, y in corners]
    ys = [min(max(middle_y - x * sin + y * cos, 0.0), size[1]) for x, y in corners]
    return round(min(xs), 1), round(min(ys), 1), round(max(xs), 1), round(max(ys), 1)
