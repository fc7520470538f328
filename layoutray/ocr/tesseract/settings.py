"""Settings of the engines `tesserocr` and `pytesseract`.

The defaults had the highest word recall on receipts, forms and papers together: see `layoutray benchmark ocr`.
"""

from dataclasses import dataclass, field

from layoutray.errors import InputError
from layoutray.ocr.settings import AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """Steps before Tesseract reads a page, in the order of the fields. Boxes are mapped back to the original page.

    Attributes:
        width: rescale to this width in pixels, keeping the aspect ratio; 0 keeps the size.
        grayscale: convert to grey before the other steps; if off, after them (Tesseract always reads grey).
        clahe: clip limit of contrast-limited adaptive histogram equalisation (8 x 8 tiles); 0: off.
        dilate, erode: side of the square structuring element in pixels; 0: off. Dilation thins dark ink.
        deskew: correct a skew of 0.5 to 5 degrees.
    """

    width: int = 1600
    grayscale: bool = True
    clahe: float = 1.0
    dilate: int = 0
    erode: int = 0
    deskew: bool = False


@dataclass(frozen=True, slots=True)
class TesseractSettings:
    """Settings of Tesseract.

    Attributes:
        language: Tesseract language codes, joined by `+`.
        psm: page segmentation mode (3: automatic, 4: one column, 6: one block).
    """

    language: str = "eng"
    psm: int = 6
    preprocessing: Preprocessing = field(default_factory=Preprocessing)

    def __post_init__(self) -> None:
        if self.language == AUTO:
            raise InputError("Tesseract does not decide the language; set codes of its language data, such as deu+eng")
