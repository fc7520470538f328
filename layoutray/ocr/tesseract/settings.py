"""Settings of the engines `tesserocr` and `pytesseract`.

The defaults had the highest word recall on receipts, forms and papers together: see `layoutray benchmark ocr`.
"""

from dataclasses import dataclass, field

from layoutray.errors import InputError
from layoutray.ocr.settings import AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """Steps before Tesseract reads a page, in the order of the fields. docs/recipes.md explains them.

    Boxes are mapped back to the original page.
    """

    width: int = 1600
    grayscale: bool = True
    clahe: float = 1.0
    dilate: int = 0
    erode: int = 0
    deskew: bool = False


@dataclass(frozen=True, slots=True)
class TesseractSettings:
    """Settings of Tesseract. docs/recipes.md explains them."""

    language: str = "eng"
    psm: int = 6
    preprocessing: Preprocessing = field(default_factory=Preprocessing)

    def __post_init__(self) -> None:
        if self.language == AUTO:
            raise InputError("Tesseract does not decide the language; set codes of its language data, such as deu+eng")
