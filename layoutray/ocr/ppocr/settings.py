"""Settings of the engine `rapidocr`."""

from dataclasses import dataclass

from layoutray.errors import InputError
from layoutray.ocr import lexicon
from layoutray.ocr.ppocr.alphabet import alphabet_of
from layoutray.store import sources


@dataclass(frozen=True, slots=True)
class RapidocrSettings:
    """Settings of PP-OCR.

    Attributes:
        language: ISO 639-3 codes joined by `+`, whose letters can occur; `all` for every character of the model.
        short_side: least pixels of a page's shorter side when lines are searched.
        lexicon: file or s3:// address of a lexicon (see `layoutray.ocr.lexicon`); empty for none.
        lexicon_hash: hash of the lexicon's content; found if not given.
    """

    language: str = "eng"
    short_side: int = 736
    lexicon: str = ""
    lexicon_hash: str = ""

    def __post_init__(self) -> None:
        alphabet_of(self.language)
        if self.lexicon:
            self._find_lexicon()
        if not 32 <= self.short_side <= 2000:
            raise InputError(f"short_side is {self.short_side}; it must be from 32 to 2000 pixels")

    def _find_lexicon(self) -> None:
        """Set the lexicon's address and hash, so that they are part of a page's identity. Raises InputError."""
        uri = sources.absolute(self.lexicon)
        found = lexicon.load(uri).fingerprint
        if self.lexicon_hash not in ("", found):
            raise InputError(
                f"the lexicon {uri} has changed: its hash is {found}, expected {self.lexicon_hash}; "
                "restore it, or leave lexicon_hash out"
            )
        object.__setattr__(self, "lexicon", uri)
        object.__setattr__(self, "lexicon_hash", found)
