"""What the engines `tesserocr` and `pytesseract` share: all but the way in which they run Tesseract."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.errors import DocumentError, Reason
from layoutray.ocr.tesseract import tessdata
from layoutray.ocr.tesseract.settings import TesseractSettings

_WORD_LEVEL = "5"
_COLUMNS = 12  # level page_num block_num par_num line_num word_num left top width height conf text


class TesseractEngine(ABC):
    """An `Engine`."""

    name: str
    settings = TesseractSettings
    well_read = 0.5
    least_confidence = 0.0

    def version(self, settings: TesseractSettings) -> str:
        return f"{self._program()} {tessdata.fingerprint(tessdata.find_folder(settings.language), settings.language)}"

    def recognise(self, picture: NDArray[np.uint8], settings: TesseractSettings, max_pixels: int) -> tuple[Word, ...]:
        from layoutray.ocr.tesseract.preprocess import preprocess

        prepared = preprocess(picture, settings.preprocessing, max_pixels)
        height, width = prepared.image.shape
        try:
            output = self._tsv(np.ascontiguousarray(prepared.image), settings)
        except RuntimeError as error:
            raise DocumentError(
                Reason.ENGINE_ERROR, f"Tesseract rejects a picture of {width} x {height} pixels: {error}", stage="ocr"
            ) from error
        return prepared.on_page(parse_words(output, width, height))

    @abstractmethod
    def _program(self) -> str:
        """Version of Tesseract. Raises MissingDependencyError."""

    @abstractmethod
    def _tsv(self, image: NDArray[np.uint8], settings: TesseractSettings) -> str:
        """Tesseract's TSV output for a grey picture (height, width).

        Raises:
            RuntimeError: when Tesseract rejects the picture.
            MissingDependencyError: when the program or its language data is missing.
        """


def parse_words(tsv: str, width: int, height: int) -> tuple[Word, ...]:
    """The words in Tesseract's TSV output for a picture of `width` x `height` pixels.

    Boxes are clipped to the picture. Lines and blocks are numbered from 0 in reading order.
    """
    lines: dict[tuple[str, str, str], int] = {}
    blocks: dict[str, int] = {}
    words: list[Word] = []
    # Not `splitlines`, which also splits at separators that can be part of a word.
    for row in tsv.split("\n"):
        columns = row.split("\t", _COLUMNS - 1)
        if len(columns) != _COLUMNS or columns[0] != _WORD_LEVEL or not columns[11].strip():
            continue
        block, paragraph, line = columns[2:5]
        left, top, wide, high = map(int, columns[6:10])
        x0, x1 = (min(max(side / width, 0.0), 1.0) for side in (left, left + wide))
        y0, y1 = (min(max(side / height, 0.0), 1.0) for side in (top, top + high))
        words.append(
            Word(
                text=columns[11].strip(),
                box=Box(x0, y0, x1, y1),
                confidence=min(max(float(columns[10]) / 100, 0.0), 1.0),
                line=lines.setdefault((block, paragraph, line), len(lines)),
                block=blocks.setdefault(block, len(blocks)),
            )
        )
    return tuple(words)
