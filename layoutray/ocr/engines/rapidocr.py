"""OCR engine `rapidocr`: PP-OCR's small models on onnxruntime. Reads receipts and forms better than Tesseract, slower.

The package `rapidocr` (Apache-2.0) carries the models, so that nothing is downloaded.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Word
from layoutray.ocr.ppocr.settings import RapidocrSettings


class RapidocrEngine:
    """Stateless, but for the networks that were loaded last."""

    name = "rapidocr"
    settings = RapidocrSettings
    well_read = 0.9
    least_confidence = 0.6

    def version(self, settings: RapidocrSettings) -> str:
        from layoutray.ocr.ppocr import models

        return f"{models.version()} lexicon:{settings.lexicon_hash}" if settings.lexicon else models.version()

    def recognise(self, picture: NDArray[np.uint8], settings: RapidocrSettings, max_pixels: int) -> tuple[Word, ...]:
        import cv2

        if picture.ndim == 2:
            picture = np.asarray(cv2.cvtColor(picture, cv2.COLOR_GRAY2RGB), dtype=np.uint8)
        return _reader(settings).read(picture, max_pixels)


@lru_cache(maxsize=1)
def _reader(settings: RapidocrSettings) -> Any:
    """The loaded networks, which are kept between pages while the settings stay the same."""
    from layoutray.ocr.ppocr.page import PageReader

    return PageReader(settings)


ENGINE = RapidocrEngine()
