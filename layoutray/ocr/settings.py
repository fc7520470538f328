"""What can be chosen about recognition. Part of a page's identity: the same bytes with other settings are other work.

The defaults found the most words over receipts, forms and papers together; `bench.ocr_settings` measures them.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """Steps before OCR, in the order of the fields; boxes are always mapped back to the original page.

    Attributes:
        width: rescale to this many pixels wide, up or down, keeping the aspect ratio; 0 leaves the size alone.
        grayscale: drop colour before the other steps; off drops it after them (Tesseract reads grey either way).
        clahe: clip limit of contrast-limited adaptive histogram equalisation on an 8 x 8 grid; 0 is off.
        dilate, erode: side of the square structuring element in pixels; 0 is off. Dark ink: dilation thins it.
        deskew: turn the page level when its lines slope by more than half a degree.
    """

    width: int = 1600
    grayscale: bool = True
    clahe: float = 1.0
    dilate: int = 0
    erode: int = 0
    deskew: bool = False


@dataclass(frozen=True, slots=True)
class TesseractSettings:
    """Attributes:
    language: Tesseract language code(s), joined by `+`.
    psm: page segmentation mode (6 one block, 3 automatic, 4 one column).
    deadline: seconds that one page may take, rendering included.
    """

    language: str = "eng"
    psm: int = 6
    deadline: float = 120.0


@dataclass(frozen=True, slots=True)
class Recognition:
    """Everything that decides the words of a page.

    Attributes:
        engine: name of the OCR engine.
        dpi: at which PDF pages without usable text are rendered.
        text_layer: `auto` uses a PDF page's own text where it has one, `never` always renders and reads it.
        max_pixels: larger pictures are refused (decompression bombs).
        max_pages: longer documents are refused.
    """

    engine: str = "tesserocr"
    dpi: int = 200
    text_layer: str = "auto"
    max_pixels: int = 120_000_000
    max_pages: int = 2000
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    tesseract: TesseractSettings = field(default_factory=TesseractSettings)
