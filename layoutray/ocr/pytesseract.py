"""Tesseract as a program of its own for every page, through pytesseract: the portable engine."""

import os
import shlex

import numpy as np
import pytesseract
from numpy.typing import NDArray
from PIL import Image

from layoutray.document import Word
from layoutray.errors import DocumentError, MissingDependencyError, Reason
from layoutray.ocr import tessdata, tsv
from layoutray.ocr.settings import TesseractSettings

_HOW_TO_INSTALL = "the program `tesseract` is not on PATH; run `apt-get install tesseract-ocr tesseract-ocr-eng`"


class PytesseractEngine:
    """Stateless: each page starts the installed `tesseract`."""

    name = "pytesseract"

    def version(self, settings: TesseractSettings) -> str:
        try:
            program = pytesseract.get_tesseract_version()
        except pytesseract.TesseractNotFoundError as error:
            raise MissingDependencyError(_HOW_TO_INSTALL) from error
        return f"{program} {tessdata.fingerprint(tessdata.find_folder(settings.language), settings.language)}"

    def recognise(self, image: NDArray[np.uint8], settings: TesseractSettings) -> tuple[Word, ...]:
        height, width = image.shape
        folder = tessdata.find_folder(settings.language)
        picture = Image.fromarray(image)
        # Uncompressed, and without a resolution in the header: Tesseract then estimates it as it does for tesserocr.
        picture.format = "PPM"
        # pytesseract hands its own environment on; more OpenMP threads make the program several times slower.
        os.environ["OMP_THREAD_LIMIT"] = "1"
        try:
            found = str(
                pytesseract.image_to_data(
                    picture,
                    lang=settings.language,
                    config=f"--tessdata-dir {shlex.quote(str(folder))} --psm {settings.psm}",
                    timeout=settings.deadline,  # pyright: ignore[reportArgumentType]  (guessed from a default; fractions are fine)
                )
            )
        except pytesseract.TesseractNotFoundError as error:
            raise MissingDependencyError(_HOW_TO_INSTALL) from error
        except pytesseract.TesseractError as error:
            raise DocumentError(
                Reason.ENGINE_ERROR, f"Tesseract refuses a picture of {width} x {height} pixels: {error}", stage="ocr"
            ) from error
        except RuntimeError as error:  # what pytesseract raises when its time is up
            raise DocumentError(
                Reason.TIMEOUT,
                f"Tesseract did not finish a picture of {width} x {height} pixels in {settings.deadline} s; raise tesseract.deadline",
                stage="ocr",
            ) from error
        return tsv.parse_words(found, width, height)


ENGINE = PytesseractEngine()
