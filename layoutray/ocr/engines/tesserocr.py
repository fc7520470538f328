"""OCR engine `tesserocr`: runs Tesseract inside this process. Faster than `pytesseract`."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutray.errors import MissingDependencyError
from layoutray.ocr.tesseract import tessdata
from layoutray.ocr.tesseract.engine import TesseractEngine
from layoutray.ocr.tesseract.settings import TesseractSettings


class TesserocrEngine(TesseractEngine):
    """Stateless, but for the model that was loaded last."""

    name = "tesserocr"

    def _program(self) -> str:
        import tesserocr

        return tesserocr.tesseract_version().split()[1]

    def _tsv(self, image: NDArray[np.uint8], settings: TesseractSettings) -> str:
        height, width = image.shape
        api = _loaded(settings.language, settings.psm)
        try:
            api.SetImageBytes(image.tobytes(), width, height, 1, width)
            return api.GetTSVText(0)
        finally:
            api.Clear()


@lru_cache(maxsize=1)
def _loaded(language: str, psm: Any) -> Any:
    """Tesseract with its model, which is kept between pages while language and segmentation mode stay the same."""
    import tesserocr

    folder = tessdata.find_folder(language)
    try:
        return tesserocr.PyTessBaseAPI(path=f"{folder}/", lang=language, psm=psm)
    except RuntimeError as error:
        raise MissingDependencyError(
            f"Tesseract cannot load its language data {language!r} from {folder}: {error}; reinstall it"
        ) from error


ENGINE = TesserocrEngine()
