"""OCR engine `rapidocr`: the tiny and small networks of PP-OCRv6 on onnxruntime, without a download.

A tiny network reads each line, and a small one the lines of which the tiny one is not certain.
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

        sizes = dict.fromkeys(("tiny", settings.detection))
        used = (*(models.DETECTION[size] for size in sizes), *models.recognition(settings.language))
        return f"{models.version(used)} lexicon:{settings.lexicon_hash}" if settings.lexicon else models.version(used)

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
