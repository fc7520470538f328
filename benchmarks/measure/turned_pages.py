"""Word recall of an OCR profile on copies of annotated pages that are turned or skewed, beside the pages themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.evaluation.ocr_settings import KnownPage
from layoutray.metrics.word_recall import word_recall
from layoutray.ocr import engines
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Recognition
from layoutray.ocr.turn import read_upright

UPRIGHT = "upright, read once"
COPIES: Mapping[str, float] = {
    UPRIGHT: 0,
    "upright": 0,
    "turned 90": 90,
    "turned 180": 180,
    "turned 270": 270,
    "skewed 2": 2,
    "skewed -2": -2,
    "skewed 5": 5,
    "skewed -5": -5,
}
"""Degrees clockwise by which each copy is rotated. The first is read without the search for a page's direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyScore:
    """The reading of one copy of a page.

    Attributes:
        page: number of the page among those that were read, from 0.
        degrees: how far the page was turned clockwise before it was read.
    """

    page: int
    copy: str
    recall: float
    precision: float
    degrees: int


def score_copies(number: int, page: KnownPage, settings: Recognition, copies: Sequence[str]) -> list[CopyScore]:
    """The scores of the named copies of one page."""
    picture = render_page(page.file, 1, settings).image
    truth = [word.text for word in page.truth]
    scores: list[CopyScore] = []
    for name in copies:
        orientation = "upright" if name == UPRIGHT else "detect"
        own = replace(settings, orientation=orientation)
        reading = read_upright(rotated(picture, COPIES[name]), engines.load(settings.engine), own)
        recall, precision = word_recall([word.text for word in reading.words], truth)
        scores.append(CopyScore(page=number, copy=name, recall=recall, precision=precision, degrees=reading.degrees))
    return scores


def rotated(picture: NDArray[np.uint8], degrees: float) -> NDArray[np.uint8]:
    """The whole picture (height, width[, 3]) rotated clockwise on white paper."""
    if degrees % 90 == 0:
        return np.ascontiguousarray(np.rot90(picture, -int(degrees) // 90))
    height, width = picture.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), -degrees, 1.0)
    cosine, sine = abs(matrix[0, 0]), abs(matrix[0, 1])
    size = round(width * cosine + height * sine), round(width * sine + height * cosine)
    matrix[:, 2] += (size[0] - width) / 2, (size[1] - height) / 2
    white = (255, 255, 255)
    turned = cv2.warpAffine(picture, matrix, size, flags=cv2.INTER_CUBIC, borderValue=white)
    return np.asarray(turned, dtype=np.uint8)
