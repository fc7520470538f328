"""Generated forms and agreements with labels of signatures, some of them signed."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from layoutray.document import Box, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.document.page import OFF, ON, SIGNED, UNSIGNED
from layoutray.document.signature import signatures
from layoutray.ocr.signatures import find
from layoutray.readers.annotation import ANNOTATED
from layoutray.synthetic import form_text as text
from layoutray.synthetic.canvas import Canvas, Face
from layoutray.synthetic.layouts import FAMILIES
from layoutray.synthetic.render import Drawn, render_page

LABELS = ("Signature", "Signature:", "By:", "Signed", "Signed by", "Authorized signature", "Signature of applicant",
          "Unterschrift", "Customer signature", "Sign here")  # fmt: skip
_SIGNED = 0.5
_SCHEMA = {"signature": FieldType(type="signature", many=True)}
_LEAST_SHARED = 0.3
"""Least intersection over union of a signature that is found."""
_Sides = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class SignedScore:
    """Numbers of labels of one state: true ones, found ones, and those that are right."""

    true: int
    found: int
    right: int

    @property
    def f1(self) -> float:
        return 200 * self.right / max(self.true + self.found, 1)

    def __add__(self, other: "SignedScore") -> "SignedScore":
        return SignedScore(self.true + other.true, self.found + other.found, self.right + other.right)


def scores(
    seed: str, count: int, how: Callable[[Random], tuple[Canvas, int]]
) -> Iterator[tuple[SignedScore, SignedScore]]:
    """The scores of `signed` and of `unsigned` on each of `count` generated scans, whose printed words are known."""
    for number in range(count):
        picture, annotation = render_page(Random(f"{seed}/{number}"), how)
        words = [
            Word(text=word["text"], box=Box.from_pixels(word["box"], *picture.size), tag=word["tag"], line=word["line"])
            for word in annotation["words"]
        ]
        printed = tuple(word for word in words if word.text not in (SIGNED, ON, OFF))
        drawn = [word.box for word in words if word.text == SIGNED]
        page = Page(
            doc_id="page", number=1, width=picture.width, height=picture.height, source="", image="", split="test",
            words=(*printed, *find(np.asarray(picture), printed)), provenance=ANNOTATED,
        )  # fmt: skip
        answers = [*signatures(page, _SCHEMA)]
        found = [page.words[one.words[0]].box for one in answers if one.content == SIGNED]
        right = sum(any(box.iou(other) >= _LEAST_SHARED for other in found) for box in drawn)
        labels = {number for number, word in enumerate(printed) if word.tag == f"B-{UNSIGNED}"}
        others = [one for one in answers if one.content == UNSIGNED]
        without = sum(not labels.isdisjoint(one.words) for one in others)
        yield SignedScore(len(drawn), len(found), right), SignedScore(len(labels), len(others), without)


def signed_page(random: Random) -> Drawn:
    """A page of text, entries and one to three labels of signatures on or below their lines.

    A signature is a word; the words of a label without one have the tag `unsigned`.
    """
    dpi = random.choice((100, 150, 200, 200))
    canvas = Canvas(round(8.27 * dpi), round(11.69 * dpi), tilt=random.choice((0.4, 1.0)))
    face = Face(random.choice(FAMILIES), round(random.uniform(8.5, 12) / 72 * dpi))
    margin, y = canvas.width // 10, canvas.width * random.uniform(0.1, 0.3)
    canvas.write_centred(y, [text.title(random).upper()], face.bold.scaled(1.4))
    blocks = [_paragraph, _paragraph, _entries, *[_signature] * random.randint(1, 3)]
    for block in random.sample(blocks, len(blocks)):
        if y < canvas.image.height * 0.8:
            y = block(canvas, random, face, (margin, y + 3 * face.leading))
    return canvas, canvas.image.height


def _paragraph(canvas: Canvas, random: Random, face: Face, at: tuple[float, float]) -> float:
    sentences = " ".join(text.sentence(random) for _ in range(random.randint(2, 8)))
    return canvas.flow(at, canvas.width - 2 * at[0], [(sentences, "")], face)


def _entries(canvas: Canvas, random: Random, face: Face, at: tuple[float, float]) -> float:
    """Labels with values in print or by hand, which are no signatures."""
    x, y = at
    for _ in range(random.randint(2, 5)):
        label = random.choice(("Name", "Date", "City", "Reference", "Phone"))
        canvas.write((x, y), f"{label}:", face)
        start = x + face.width("Reference:  ")
        if random.random() < 0.4:
            _stroke(canvas, random, (start, y), face.size * random.uniform(0.7, 1.2), random.uniform(3, 7))
        else:
            canvas.write((start, y), text.short_answer(random), face)
        canvas.rule((start, y + 3), (start + face.size * 14, y + 3), random.choice((1, 2)))
        y += 2 * face.leading
    return y


def _signature(canvas: Canvas, random: Random, face: Face, at: tuple[float, float]) -> float:
    """A label beside its line, or below it, and another entry beside it."""
    x, y = at[0], at[1] + 3 * face.size
    label, below = random.choice(LABELS), random.random() < 0.4
    start = x if below else x + face.width(f"{label} ")
    length = face.size * random.uniform(12, 20)
    signed = random.random() < _SIGNED
    canvas.rule((start, y + 3), (start + length, y + 3), random.choice((1, 2)))
    if signed:
        high = face.size * random.uniform(1.5, 3.5)
        left = start + face.size * random.uniform(0.3, 2)
        canvas.symbol(_stroke(canvas, random, (left, y + high * 0.15), high, random.uniform(2, 4)), SIGNED)
    canvas.write((x, y + below * 1.3 * face.size), label, face, "" if signed else UNSIGNED)
    if random.random() < 0.5:
        other = start + length + 3 * face.size
        canvas.write((other, y), "Date:", face)
        if random.random() < 0.5:
            canvas.write((other + face.width("Date:  "), y), text.short_answer(random), face)
    return y + 2 * face.size


def _stroke(canvas: Canvas, random: Random, start: tuple[float, float], high: float, ratio: float) -> _Sides:
    """One to three lines by hand that curl to the right, from a left end of a baseline, and their box."""
    pen, shade = max(1, round(high * random.uniform(0.03, 0.09))), random.randint(0, 110)
    x, wide, boxes = start[0], high * ratio, list[tuple[float, float]]()
    for _ in range(random.randint(1, 3)):
        count, slant = random.randint(40, 80), random.uniform(0.1, 0.5)
        waves = [
            (random.uniform(0.5, 1) / (wave + 1), random.uniform(1, 4) * (wave + 1), random.uniform(0, 6))
            for wave in range(3)
        ]
        part = wide / random.uniform(1.2, 3)
        points: list[tuple[float, float]] = []
        for step in range(count):
            t = step / count
            down = sum(size * math.sin(rate * math.tau * t + phase) for size, rate, phase in waves)
            along = 0.15 * part * math.cos(waves[0][1] * 2 * math.tau * t + 1)
            up = high * (0.45 - 0.3 * down * random.uniform(0.97, 1.03))
            points.append((x + part * t + along + slant * up, start[1] - up))
        canvas.pen.line(points, fill=shade, width=pen, joint="curve")
        boxes += points
        x += part * random.uniform(0.4, 0.9)
    xs, ys = zip(*boxes, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
