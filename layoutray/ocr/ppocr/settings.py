"""Settings of the engine `rapidocr`, and the characters of languages, to which recognition can be restricted."""

from collections.abc import Mapping
from dataclasses import dataclass

from layoutray.errors import InputError
from layoutray.ocr import lexicon
from layoutray.store import sources

_ASCII = "".join(map(chr, range(0x21, 0x7F)))
# Without the sign of multiplication: on receipts the network reads it for the letter x, between numbers too.
_SYMBOLS = "£€¥¢§©®°±·÷–—‘’“”…•™"
_LETTERS: Mapping[str, str] = {
    "eng": "",
    "ces": "áčďéěíňóřšťúůýž",
    "dan": "æøå",
    "deu": "äöüß",
    "est": "äõöüšž",
    "fin": "äöåšž",
    "fra": "àâæçéèêëîïôœùûüÿ«»",
    "hrv": "čćđšž",
    "hun": "áéíóöőúüű",
    "ind": "",
    "ita": "àèéìíîòóùú",
    "lav": "āčēģīķļņšūž",
    "lit": "ąčęėįšųūž",
    "msa": "",
    "nld": "áéëïóöúü",
    "nor": "æøåéèêóòâô",
    "pol": "ąćęłńóśźż",
    "por": "áâãàçéêíóôõúü",
    "ron": "ăâîșțşţ",
    "slk": "áäčďéíĺľňóôŕšťúýž",
    "slv": "čšž",
    "spa": "áéíñóúü¿¡ºª",
    "swe": "åäöé",
    "tur": "çğıİöşü",
}
"""Letters beyond ASCII by ISO 639-3 code."""
ALL = "all"


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
        """Check the values. Set the lexicon's address and hash, so that they are part of a page's identity."""
        alphabet_of(self.language)
        if self.lexicon:
            uri = sources.absolute(self.lexicon)
            found = lexicon.load(uri).fingerprint
            if self.lexicon_hash not in ("", found):
                raise InputError(
                    f"the lexicon {uri} has changed: its hash is {found}, expected {self.lexicon_hash}; "
                    "restore it, or leave lexicon_hash out"
                )
            object.__setattr__(self, "lexicon", uri)
            object.__setattr__(self, "lexicon_hash", found)
        if not 32 <= self.short_side <= 2000:
            raise InputError(f"short_side is {self.short_side}; it must be from 32 to 2000 pixels")


def alphabet_of(language: str) -> frozenset[str]:
    """The characters of the languages in `language`; empty, which means no restriction, for `all`.

    Args:
        language: ISO 639-3 codes joined by `+`, or `all`.

    Raises:
        InputError: when the characters of a language are not known.
    """
    if language == ALL:
        return frozenset()
    unknown = [code for code in language.split("+") if code not in _LETTERS]
    if unknown:
        raise InputError(
            f"the letters of language {unknown[0]!r} are not known; allowed: {', '.join(sorted(_LETTERS))}, joined "
            f"by +, or {ALL!r} for every character that the model knows"
        )
    letters = "".join(_LETTERS[code] for code in language.split("+"))
    return frozenset(_ASCII + _SYMBOLS + letters + letters.upper().replace("SS", "ß") + " ")
