"""From the picture of a page to its words: detection, recognition, word boxes and reading order."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.ocr import lexicon
from layoutray.ocr.ppocr import models
from layoutray.ocr.ppocr.correct import corrected
from layoutray.ocr.ppocr.ctc import SPACE, Decoder, Reading
from layoutray.ocr.ppocr.detect import FittingDetector
from layoutray.ocr.ppocr.lines import Line, cut, variants
from layoutray.ocr.ppocr.lookalikes import resolved
from layoutray.ocr.ppocr.settings import RapidocrSettings, alphabet_of
from layoutray.ocr.ppocr.words import words_of

_SAME_ROW = 0.5
"""Least overlap of two lines' vertical extents in one row, as a share of the lower one."""
_NEW_BLOCK = 1.5
"""A gap between two rows of this many median line heights begins a new block."""
_CLEARLY_TEXT, _LEGIBLE = 0.4, 0.9
"""A line that is text with a lower probability is kept if it is read with at least this mean confidence."""
_NO_MEMORY = ("Failed to allocate memory", "bad_alloc")
_HEIGHT = 48
"""Pixels of a line's height that the network takes."""
_STEP = 8
"""Pixels of width for each time step of the network."""
_NARROWEST = 32
_WIDEST = 3200
"""Pixels of width after scaling to `_HEIGHT`; longer lines are squeezed, so that memory stays bounded."""


class PageReader:
    """The networks that find and read lines, loaded."""

    def __init__(self, settings: RapidocrSettings) -> None:
        self._settings = settings
        self._detector = FittingDetector(settings.detection, settings.short_side)
        alphabet = alphabet_of(settings.language)
        *faster, last = (LineReader(model, alphabet) for model in models.recognition(settings.language))
        # A network that lacks a letter would read another one without doubt.
        self._first = next((reader for reader in faster if reader.knows(alphabet)), None)
        self._reader = last
        self._lexicon = lexicon.load(settings.lexicon) if settings.lexicon else None

    def read(self, page: NDArray[np.uint8], max_pixels: int) -> tuple[Word, ...]:
        """The words of an RGB page (height, width, 3) in reading order; boxes are relative to it.

        Args:
            max_pixels: see `Engine.recognise`.

        Raises:
            MemoryError: when a network needs more memory than there is.
        """
        try:
            return self._read(page, max_pixels)
        except Exception as error:  # onnxruntime's errors have no common class
            if any(said in str(error) for said in _NO_MEMORY):
                raise MemoryError from error
            raise

    def _read(self, page: NDArray[np.uint8], max_pixels: int) -> tuple[Word, ...]:
        corners, probabilities = self._detector.lines(page, max_pixels)
        words: list[Word] = []
        for row, (numbers, block) in enumerate(zip(*rows_and_blocks(corners), strict=True)):
            for number in numbers:
                line, reading = self._best_reading(cut(page, corners[number]))
                if probabilities[number] >= _CLEARLY_TEXT or reading.confidence >= _LEGIBLE:
                    found = self._words(page, line, reading)
                    words += (replace(word, line=row, block=block) for word in found)
        return tuple(words)

    def _words(self, page: NDArray[np.uint8], line: Line, reading: Reading) -> list[Word]:
        grey = np.asarray(cv2.cvtColor(line.picture, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
        words = resolved(words_of(reading, grey), reading)
        if self._lexicon:
            words = corrected(words, reading, self._lexicon)
        height, width = page.shape[:2]
        on_page: list[Word] = []
        for word in words:
            corners = np.clip(line.on_page(word.sides) / (width, height), 0.0, 1.0)
            (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
            on_page.append(Word(text=word.text, box=Box(x0, y0, x1, y1), confidence=word.confidence))
        return on_page

    def _best_reading(self, line: Line) -> tuple[Line, Reading]:
        """The reading of the tiny network if it is certain, else of the small one; and the picture that was read."""
        first = self._first.read(line.picture) if self._first else None
        if first and first.certainty >= self._settings.certain:
            return line, first
        second = self._reader.read(line.picture)
        if second.confidence >= self._settings.sure or (first and first.text == second.text):
            return line, second
        return self._read_again(line, second)

    def _read_again(self, line: Line, reading: Reading) -> tuple[Line, Reading]:
        """The best of readings of further pictures, until two agree.

        Its confidence becomes the mean of all readings, because a single reading of a picture without text can have a
        high confidence.
        """
        readings = [(line, reading)]
        agreeing = readings
        for other in variants(line):
            latest = self._reader.read(other.picture)
            readings.append((other, latest))
            agreeing = [one for one in readings if one[1].text == latest.text]
            if len(agreeing) > 1:
                break
        else:
            agreeing = readings
        picture, best = max(agreeing, key=lambda picture_and_reading: picture_and_reading[1].confidence)
        mean = sum(reading.confidence for _, reading in readings) / len(readings)
        return picture, best.with_confidence(mean)


class LineReader:
    """A network that reads a line, loaded. Lines go one by one: on CPUs batches are not faster, and need padding.

    Args:
        model: one of `models.RECOGNITION`.
        alphabet: the characters that can occur; empty: all that the network knows.
    """

    def __init__(self, model: str, alphabet: Collection[str]) -> None:
        self._session = models.session(model)
        self._known = self._session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._decoder = Decoder(["", *self._known, SPACE], alphabet)

    def knows(self, alphabet: Collection[str]) -> bool:
        """Whether the network knows all letters of `alphabet`."""
        return {*filter(str.isalpha, alphabet)} <= {*self._known}

    def read(self, line: NDArray[np.uint8]) -> Reading:
        """What a line's RGB picture (height, width, 3) says."""
        height, width = line.shape[:2]
        scaled = min(max(round(width * _HEIGHT / height / _STEP) * _STEP, _NARROWEST), _WIDEST)
        # The network was trained on BGR pictures with values from -1 to 1.
        picture = cv2.resize(line, (scaled, _HEIGHT))[:, :, ::-1].astype(np.float32) / 127.5 - 1
        (scores,) = self._session.run(None, {"x": np.ascontiguousarray(picture.transpose(2, 0, 1)[None])})
        return self._decoder.decode(np.asarray(scores)[0])


def rows_and_blocks(lines: NDArray[np.float64]) -> tuple[list[list[int]], list[int]]:
    """The numbers of the lines of each row, in reading order, on a page that may be skewed; the block of each row.

    Args:
        lines: corners (lines, 4, 2), clockwise from each line's top left.
    """
    if not len(lines):
        return [], []
    level = _levelled(lines)
    tops, bottoms = level[..., 1].min(axis=1), level[..., 1].max(axis=1)
    lefts = level[..., 0].min(axis=1)
    rows: list[list[int]] = []
    for number in np.argsort((tops + bottoms) / 2, kind="stable").tolist():
        row = next((row for row in rows[::-1][:3] if _overlap(row, number, tops, bottoms) >= _SAME_ROW), None)
        if row is None:
            rows.append([number])
        else:
            row.append(number)
    least = _NEW_BLOCK * float(np.median(bottoms - tops))
    gaps = [float(tops[below].min() - bottoms[above].max()) for above, below in pairwise(rows)]
    blocks = [0, *np.cumsum([gap >= least for gap in gaps]).tolist()]
    return [sorted(row, key=lambda number: float(lefts[number])) for row in rows], blocks


def _levelled(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners after a rotation that makes the text horizontal: by the median angle of the longer half of lines."""
    direction = lines[:, 1] - lines[:, 0]
    lengths = np.linalg.norm(direction, axis=1)
    longer = direction[lengths >= np.median(lengths)]
    angle = float(np.median(np.arctan2(longer[:, 1], longer[:, 0])))
    cosine, sine = np.cos(-angle), np.sin(-angle)
    return lines @ np.array([[cosine, -sine], [sine, cosine]]).T


def _overlap(row: Sequence[int], number: int, tops: NDArray[np.float64], bottoms: NDArray[np.float64]) -> float:
    """Vertical overlap of a line with the lines of a row, mean over them; of each as a share of the lower line."""
    lines = list(row)
    shared = np.minimum(bottoms[lines], bottoms[number]) - np.maximum(tops[lines], tops[number])
    lower = np.minimum(bottoms[lines] - tops[lines], bottoms[number] - tops[number])
    return float(np.mean(shared / np.maximum(lower, 1e-6)))
