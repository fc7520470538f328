"""OCR engine `pytesseract`: runs the `tesseract` program for every page. Portable, slower than `tesserocr`."""

import os
import shlex

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from layoutray.document import Word
from layoutray.errors import DocumentError, MissingDependencyError, Reason
from layoutray.ocr.tesseract import tessdata, tsv
from layoutray.ocr.tesseract.settings import TesseractSettings

_NOT_INSTALLED = "the program `tesseract` is not on PATH; run `apt-get install tesseract-ocr tesseract-ocr-eng`"


class PytesseractEngine:
    """Starts the installed `tesseract` for each page. Stateless."""

    name = "pytesseract"
    settings = TesseractSettings
    well_read = 0.5
    least_confidence = 0.0

    def version(self, settings: TesseractSettings) -> str:
        import pytesseract

        try:
            program = pytesseract.get_tesseract_version()
        except pytesseract.TesseractNotFoundError as error:
            raise MissingDependencyError(_NOT_INSTALLED) from error
        return f"{program} {tessdata.fingerprint(tessdata.find_folder(settings.language), settings.language)}"

    def recognise(self, picture: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
        from layoutray.ocr.tesseract.preprocess import preprocess

        prepared = preprocess(picture, settings.preprocessing)
        return prepared.on_page(_read(prepared.image, settings))


def _read(image: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
    import pytesseract

    height, width = image.shape
    folder = tessdata.find_folder(settings.language)
    picture = Image.fromarray(image)
    # Uncompressed, and without a resolution in the header, so that Tesseract estimates it as for tesserocr.
    picture.format = "PPM"
    # Passed on to the program; more OpenMP threads make it several times slower.
    os.environ["OMP_THREAD_LIMIT"] = "1"
    try:
        output = str(
            pytesseract.image_to_data(
                picture,
                lang=settings.language,
                config=f"--tessdata-dir {shlex.quote(str(folder))} --psm {settings.psm}",
            )
        )
    except pytesseract.TesseractNotFoundError as error:
        raise MissingDependencyError(_NOT_INSTALLED) from error
    except pytesseract.TesseractError as error:
        raise DocumentError(
            Reason.ENGINE_ERROR, f"Tesseract rejects a picture of {width} x {height} pixels: {error}", stage="ocr"
        ) from error
    return tsv.parse_words(output, width, height)


ENGINE = PytesseractEngine()
