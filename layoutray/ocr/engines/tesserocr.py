"""OCR engine `tesserocr`: runs Tesseract inside this process. Faster than `pytesseract`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Word
from layoutray.errors import DocumentError, MissingDependencyError, Reason
from layoutray.ocr.tesseract import tessdata, tsv
from layoutray.ocr.tesseract.settings import TesseractSettings


class TesserocrEngine:
    """Keeps the loaded model between pages while language and segmentation mode stay the same."""

    name = "tesserocr"
    settings = TesseractSettings
    well_read = 0.5
    least_confidence = 0.0

    def __init__(self) -> None:
        self._api: Any = None
        self._loaded: tuple[str, int] | None = None

    def version(self, settings: TesseractSettings) -> str:
        import tesserocr

        program = tesserocr.tesseract_version().split()[1]
        return f"{program} {tessdata.fingerprint(tessdata.find_folder(settings.language), settings.language)}"

    def recognise(self, picture: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
        from layoutray.ocr.tesseract.preprocess import preprocess

        prepared = preprocess(picture, settings.preprocessing)
        return prepared.on_page(self._read(prepared.image, settings))

    def _read(self, image: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
        height, width = image.shape
        api = self._loaded_api(settings)
        try:
            api.SetImageBytes(np.ascontiguousarray(image).tobytes(), width, height, 1, width)
            return tsv.parse_words(api.GetTSVText(0), width, height)
        except RuntimeError as error:
            raise DocumentError(
                Reason.ENGINE_ERROR, f"Tesseract rejects a picture of {width} x {height} pixels: {error}", stage="ocr"
            ) from error
        finally:
            api.Clear()

    def _loaded_api(self, settings: TesseractSettings) -> Any:
        key = (settings.language, settings.psm)
        if self._api is not None and key == self._loaded:
            return self._api
        if self._api is not None:
            self._api.End()
            self._api = None
        self._api, self._loaded = _load(settings), key
        return self._api


def _load(settings: TesseractSettings) -> Any:
    import tesserocr

    folder = tessdata.find_folder(settings.language)
    psm: Any = settings.psm  # the stub wants an enumeration that does not exist at run time
    try:
        return tesserocr.PyTessBaseAPI(path=f"{folder}/", lang=settings.language, psm=psm)
    except RuntimeError as error:
        raise MissingDependencyError(
            f"Tesseract cannot load its language data {settings.language!r} from {folder}: {error}; reinstall it"
        ) from error


ENGINE = TesserocrEngine()
