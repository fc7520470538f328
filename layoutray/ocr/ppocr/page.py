"""From the picture of a page to its words: detection, recognition, word boxes and reading order."""

from collections.abc import Collection
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.ocr import lexicon
from layoutray.ocr.ppocr import models
from layoutray.ocr.ppocr.correct import corrected
from layoutray.ocr.ppocr.ctc import SPACE, Decoder, Reading
from layoutray.ocr.ppocr.detect import Detector
from layoutray.ocr.ppocr.lines import Line, cut, variants
from layoutray.ocr.ppocr.lookalikes import resolved
from layoutray.ocr.ppocr.order import rows_and_blocks
from layoutray.ocr.ppocr.settings import RapidocrSettings, alphabet_of
from layoutray.ocr.ppocr.words import words_of

_SURE = 0.98
"""A line read with a lower mean confidence is read again from other pictures of it."""
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
        self._detector = Detector(settings.short_side)
        self._reader = LineReader(alphabet_of(settings.language))
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
        """The reading with the highest confidence, and the picture that was read.

        Its confidence becomes the mean of all readings, because a single reading of a picture without text can have a
        high confidence.
        """
        first = self._reader.read(line.picture)
        if first.confidence >= _SURE:
            return line, first
        readings = [(line, first), *((other, self._reader.read(other.picture)) for other in variants(line))]
        picture, best = max(readings, key=lambda picture_and_reading: picture_and_reading[1].confidence)
        mean = sum(reading.confidence for _, reading in readings) / len(readings)
        return picture, best.with_confidence(mean)


class LineReader:
    """The network that reads a line, loaded. Lines go one by one: on CPUs batches are slower, as they need padding.

    Args:
        alphabet: the characters that can occur; empty: all that the network knows.
    """

    def __init__(self, alphabet: Collection[str]) -> None:
        self._session = models.session(models.RECOGNITION)
        known = self._session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._decoder = Decoder(["", *known, SPACE], alphabet)

    def read(self, line: NDArray[np.uint8]) -> Reading:
        """What a line's RGB picture (height, width, 3) says."""
        height, width = line.shape[:2]
        scaled = min(max(round(width * _HEIGHT / height / _STEP) * _STEP, _NARROWEST), _WIDEST)
        # The network was trained on BGR pictures with values from -1 to 1.
        picture = cv2.resize(line, (scaled, _HEIGHT))[:, :, ::-1].astype(np.float32) / 127.5 - 1
        (scores,) = self._session.run(None, {"x": np.ascontiguousarray(picture.transpose(2, 0, 1)[None])})
        return self._decoder.decode(np.asarray(scores)[0])
