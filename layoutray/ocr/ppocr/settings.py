"""Settings of the engine `rapidocr`."""

from dataclasses import dataclass

from layoutray.errors import InputError
from layoutray.ocr.ppocr.alphabet import alphabet_of


@dataclass(frozen=True, slots=True)
class RapidocrSettings:
    """Settings of PP-OCR.

    Attributes:
        language: ISO 639-3 codes joined by `+`, whose letters can occur; `all` for every character of the model.
        short_side: least pixels of a page's shorter side when lines are searched.
    """

    language: str = "eng"
    short_side: int = 736

    def __post_init__(self) -> None:
        alphabet_of(self.language)
        if not 32 <= self.short_side <= 2000:
            raise InputError(f"short_side is {self.short_side}; it must be from 32 to 2000 pixels")
