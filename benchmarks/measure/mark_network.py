"""Train the network of `layoutray.ocr.marks` on shapes of generated pages."""

import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from benchmarks.measure.mark_drawings import marked_form
from benchmarks.measure.mark_sheets import Sheets, fonts
from benchmarks.measure.marked_pages import drawn_pages, overlaps
from layoutray.ocr import marks
from layoutray.synthetic.forms import form
from layoutray.synthetic.render import bill

_DRAWN = {"sheets": 0.45, "marks": 0.33, "bills": 0.14, "forms": 0.08}
"""Kinds of pages and their shares."""
_CHANNELS = (len(marks.AROUND), 16, 32, 64)
_SAME, _OTHER = 0.55, 0.45
"""A shape is a mark with which it shares this much, and none if it shares less than that with all."""
_BATCH = 128
Shapes = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""What the network sees of shapes, and their classes."""


def shapes_of(seed: str, pages: int, folder: Path | None) -> Shapes:
    """The shapes of generated pages, most of them after a fax or a strong compression.

    Args:
        folder: with more fonts.
    """
    seen: list[NDArray[np.uint8]] = []
    classes: list[NDArray[np.int64]] = []
    kinds = {"sheets": Sheets(fonts(folder)), "marks": marked_form, "bills": bill, "forms": form}
    for kind, share in _DRAWN.items():
        for number, page in enumerate(drawn_pages(f"{seed}/{kind}", round(pages * share), kinds[kind])):
            worse = _worse(page.picture, Random(f"{seed}/{kind}/{number}"))
            grey, scale = marks.prepared(worse)
            sides = marks.shapes(grey)
            corners = np.concatenate([sides[:, :2], sides[:, :2] + sides[:, 2:]], axis=1).astype(np.float64)
            true = page.sides * scale * worse.shape[0] / page.picture.shape[0]
            shared = np.pad(overlaps(corners, true), ((0, 0), (0, 1)))
            most, state = shared.max(axis=1), np.append(1 + page.on, 0)[shared.argmax(axis=1)]
            clear = (most >= _SAME) | (most < _OTHER)
            seen.append(marks.patches(grey, sides[clear]))
            classes.append(np.where(most >= _SAME, state, 0)[clear].astype(np.int64))
    return np.concatenate(seen), np.concatenate(classes)


def _worse(picture: NDArray[np.uint8], random: Random) -> NDArray[np.uint8]:
    """A copy with thicker, thinner or broken strokes, of coarse points, by fax, or after a strong compression."""
    generator = np.random.default_rng(random.getrandbits(32))
    if random.random() < 0.3:
        change = random.choice((cv2.erode, cv2.dilate))
        picture = np.asarray(change(picture, np.ones(random.choice(((2, 2), (1, 2), (2, 1))), np.uint8)), np.uint8)
    kind = random.random()
    if kind < 0.15:
        picture = _coarse(picture, random)
    elif kind < 0.6:
        small = 1000 / max(picture.shape) * random.uniform(0.9, 1.5)
        picture = _resized(picture, min(small, 1), cv2.INTER_AREA)
        uneven = generator.normal(0, 1, (picture.shape[0] // 6 + 1, picture.shape[1] // 6 + 1)).astype(np.float32)
        uneven = cv2.resize(uneven, picture.shape[::-1], interpolation=cv2.INTER_CUBIC)
        fine = generator.normal(0, random.uniform(0, 25), picture.shape)
        light = picture + fine + random.choice((0, 0, 20, 40)) * uneven
        black = random.uniform(110, 215)
        picture = np.where(light < black, 0, 255) if random.random() < 0.8 else light.clip(0, 255)
        picture = picture.astype(np.uint8)
    elif kind < 0.75:
        _, held = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, random.randint(25, 60)])
        picture = np.asarray(cv2.imdecode(held, cv2.IMREAD_GRAYSCALE), np.uint8)
    return picture


def _coarse(picture: NDArray[np.uint8], random: Random) -> NDArray[np.uint8]:
    """The picture in black points, as printers of receipts set them, seen by a scanner."""
    points = _resized(picture, random.uniform(500, 900) / max(picture.shape), cv2.INTER_AREA)
    points = np.where(points < random.uniform(140, 220), 0, 255).astype(np.uint8)
    factor = random.choice((2, 3))
    fine = _resized(points, factor, random.choice((cv2.INTER_NEAREST, cv2.INTER_CUBIC)))
    if factor == 3 and random.random() < 0.5:
        fine[::3] = np.maximum(fine[::3], random.choice((140, 200, 255)))
        fine[:, ::3] = np.maximum(fine[:, ::3], random.choice((100, 180)))
    return np.asarray(cv2.GaussianBlur(fine, (3, 3), random.uniform(0.3, 1.2)), np.uint8)


def _resized(picture: NDArray[np.uint8], factor: float, how: int) -> NDArray[np.uint8]:
    return np.asarray(cv2.resize(picture, None, fx=factor, fy=factor, interpolation=how), np.uint8)


def train(shapes: Shapes, steps: int, seed: int, out: Path, say: Callable[[str], None]) -> None:
    """Train the network, and write its weights."""
    torch.manual_seed(seed)
    seen, classes = (torch.from_numpy(one) for one in shapes)
    side, last = marks.PATCH // 8, _CHANNELS[-1]
    convolutions = [nn.Conv2d(before, after, 3, 2, 1) for before, after in itertools.pairwise(_CHANNELS)]
    layers = [layer for convolution in convolutions for layer in (convolution, nn.ReLU())]
    linear = nn.Linear(side**2 * last, 3)
    network = nn.Sequential(*layers, nn.Flatten(), linear)
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for step in range(steps):
        chosen = torch.randint(len(seen), (_BATCH,))
        loss = functional.cross_entropy(network(_varied(seen[chosen])), classes[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 500 == 499:
            say(f"step {step + 1}: loss {loss.item():.3f}")
    # As `layoutray.ocr.marks` reads them: kernels (channels · rows · columns, out); (rows · columns · channels, 3).
    weights = [one.weight.detach().permute(1, 2, 3, 0).flatten(0, 2) for one in convolutions]
    weights.append(linear.weight.detach().unflatten(1, (last, side, side)).permute(2, 3, 1, 0).flatten(0, 2))
    biases = [one.bias.detach() for one in (*convolutions, linear) if one.bias is not None]
    arrays = {f"weight{number}": one.numpy().astype(np.float16) for number, one in enumerate(weights)}
    arrays |= {f"bias{number}": one.numpy().astype(np.float16) for number, one in enumerate(biases)}
    np.savez_compressed(out, allow_pickle=False, **arrays)


def _varied(seen: torch.Tensor) -> torch.Tensor:
    """Shapes mirrored, moved, lighter or darker, and noisier; ink is 1, paper 0."""
    ink = 1 - seen.movedim(3, 1).float() / 255
    ink = ink.flip(3) if torch.rand(()) < 0.5 else ink
    ink = ink.roll((int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), (2, 3))
    return ink * (0.6 + 0.5 * torch.rand(len(ink), 1, 1, 1)) + 0.03 * torch.rand(()) * torch.randn_like(ink)
