"""Train the network of `layoutray.ocr.marks` on shapes of generated pages."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from benchmarks.measure.marked_pages import drawn_pages, overlaps
from layoutray.ocr import marks
from layoutray.synthetic.forms import form
from layoutray.synthetic.marks import marked_form
from layoutray.synthetic.render import bill

_DRAWN = ((marked_form, 0.6), (bill, 0.2), (form, 0.2))
"""Kinds of pages and their shares."""
_SAME, _OTHER = 0.55, 0.45
"""A shape is a mark with which it shares this much, and none if it shares less than that with all."""
_BATCH = 64
Shapes = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""What the network sees of shapes, and their classes."""


def shapes_of(seed: str, pages: int) -> Shapes:
    """The shapes of generated pages, some of them after a fax or a strong compression."""
    seen: list[NDArray[np.uint8]] = []
    classes: list[NDArray[np.int64]] = []
    for how, share in _DRAWN:
        for number, page in enumerate(drawn_pages(f"{seed}/{how.__name__}", round(pages * share), how)):
            worse = _worse(page.picture, Random(f"{seed}/{number}"))
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
    """Two in five pages with fewer pixels, most of them black or white; three in twenty from a strong compression."""
    kind = random.random()
    if kind < 0.4:
        small = 1000 / max(picture.shape) * random.uniform(0.9, 1.5)
        fewer = cv2.resize(picture, None, fx=min(small, 1), fy=min(small, 1), interpolation=cv2.INTER_AREA)
        picture = np.asarray(fewer, np.uint8)
        noise = np.random.default_rng(random.getrandbits(32)).normal(0, random.uniform(0, 25), picture.shape)
        black = random.uniform(110, 215)
        picture = np.where(picture + noise < black, 0, 255).astype(np.uint8) if random.random() < 0.7 else picture
    elif kind < 0.55:
        _, held = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, random.randint(25, 60)])
        picture = np.asarray(cv2.imdecode(held, cv2.IMREAD_GRAYSCALE), np.uint8)
    return picture


def train(shapes: Shapes, steps: int, seed: int, out: Path, say: Callable[[str], None]) -> None:
    """Train the network, and write its weights."""
    torch.manual_seed(seed)
    seen, classes = (torch.from_numpy(one) for one in shapes)
    last = (marks.PATCH // 8) ** 2 * 32
    convolutions = [nn.Conv2d(before, after, 3, 2, 1) for before, after in ((1, 12), (12, 24), (24, 32))]
    layers = [layer for convolution in convolutions for layer in (convolution, nn.ReLU())]
    linear = nn.Linear(last, 3)
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
    side = marks.PATCH // 8
    weights.append(linear.weight.detach().unflatten(1, (32, side, side)).permute(2, 3, 1, 0).flatten(0, 2))
    biases = [one.bias.detach() for one in (*convolutions, linear) if one.bias is not None]
    arrays = {f"weight{number}": one.numpy().astype(np.float16) for number, one in enumerate(weights)}
    arrays |= {f"bias{number}": one.numpy().astype(np.float16) for number, one in enumerate(biases)}
    np.savez_compressed(out, allow_pickle=False, **arrays)


def _varied(seen: torch.Tensor) -> torch.Tensor:
    """Shapes mirrored, moved, lighter or darker, and noisier; ink is 1, paper 0."""
    ink = 1 - seen[:, None].float() / 255
    ink = ink.flip(3) if torch.rand(()) < 0.5 else ink
    ink = ink.roll((int(torch.randint(-2, 3, ())), int(torch.randint(-2, 3, ()))), (2, 3))
    return ink * (0.6 + 0.5 * torch.rand(len(ink), 1, 1, 1)) + 0.03 * torch.rand(()) * torch.randn_like(ink)
