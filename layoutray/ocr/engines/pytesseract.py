"""OCR engine `pytesseract`: runs the `tesseract` program for every page. Portable, slower than `tesserocr`."""

import os
import shlex

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from layoutray.errors import MissingDependencyError
from layoutray.ocr.tesseract import tessdata
from layoutray.ocr.tesseract.engine import TesseractEngine
from layoutray.ocr.tesseract.settings import TesseractSettings

_NOT_INSTALLED = "the program `tesseract` is not on PATH; run `apt-get install tesseract-ocr tesseract-ocr-eng`"


class PytesseractEngine(TesseractEngine):
    """Starts the installed `tesseract` for each page. Stateless."""

    name = "pytesseract"

    def _program(self) -> str:
        import pytesseract

        try:
            return str(pytesseract.get_tesseract_version())
        except pytesseract.TesseractNotFoundError as error:
            raise MissingDependencyError(_NOT_INSTALLED) from error

    def _tsv(self, image: NDArray[np.uint8], settings: TesseractSettings) -> str:
        import pytesseract

        folder = tessdata.find_folder(settings.language)
        picture = Image.fromarray(image)
        # Uncompressed, and without a resolution in the header, so that Tesseract estimates it as for tesserocr.
        picture.format = "PPM"
        # Passed on to the program; more OpenMP threads make it several times slower.
        os.environ["OMP_THREAD_LIMIT"] = "1"
        options = f"--tessdata-dir {shlex.quote(str(folder))} --psm {settings.psm}"
        try:
            return str(pytesseract.image_to_data(picture, lang=settings.language, config=options))
        except pytesseract.TesseractNotFoundError as error:
            raise MissingDependencyError(_NOT_INSTALLED) from error


ENGINE = PytesseractEngine()
