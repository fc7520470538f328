"""OCR engine `rapidocr`: PP-OCR's small models on onnxruntime. Reads receipts and forms better than Tesseract, slower.

The package `rapidocr` (Apache-2.0) carries the models, so that nothing is downloaded.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Word
from layoutray.ocr.ppocr.settings import RapidocrSettings

if TYPE_CHECKING:
    from layoutray.ocr.ppocr.page import PageReader


class RapidocrEngine:
    """Keeps the loaded networks between pages while the settings stay the same."""

    name = "rapidocr"
    settings = RapidocrSettings
    well_read = 0.9
    least_confidence = 0.6

    def __init__(self) -> None:
        self._loaded: tuple[RapidocrSettings, PageReader] | None = None

    def version(self, settings: RapidocrSettings) -> str:
        from layoutray.ocr.ppocr import models

        return f"{models.version()} lexicon:{settings.lexicon_hash}" if settings.lexicon else models.version()

    def recognise(self, picture: NDArray[np.uint8], settings: RapidocrSettings) -> tuple[Word, ...]:
        import cv2

        if picture.ndim == 2:
            picture = np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2RGB), dtype=np.uint8)
        return self._reader(settings).read(picture)

    def _reader(self, settings: RapidocrSettings) -> "PageReader":
        if self._loaded is None or self._loaded[0] != settings:
            from layoutray.ocr.ppocr.page import PageReader

            self._loaded = settings, PageReader(settings)
        return self._loaded[1]


ENGINE = RapidocrEngine()
