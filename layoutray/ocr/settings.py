"""Settings of recognition. They are part of a page's identity: other settings make other pages from the same file.

The defaults had the highest word recall on receipts, forms and papers together: see `layoutray benchmark ocr`.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """Steps before OCR, in the order of the fields. Boxes are mapped back to the original page.

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
        deadline: seconds that one page may take, rendering included.
    """

    language: str = "eng"
    psm: int = 6
    deadline: float = 120.0


@dataclass(frozen=True, slots=True)
class Recognition:
    """All settings that affect the words of a page.

    Attributes:
        engine: name of the OCR engine.
        dpi: resolution for rendering PDF pages.
        text_layer: `auto` uses a PDF page's text layer when it is usable; `never` always runs OCR.
        max_pixels: most pixels of a picture; larger ones are rejected (decompression bombs).
        max_pages: most pages of a document; longer ones are rejected.
    """

    engine: str = "tesserocr"
    dpi: int = 200
    text_layer: str = "auto"
    max_pixels: int = 120_000_000
    max_pages: int = 2000
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    tesseract: TesseractSettings = field(default_factory=TesseractSettings)
