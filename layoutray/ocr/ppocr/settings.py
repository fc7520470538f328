"""Settings of the engine `rapidocr`, and the characters of languages, to which recognition can be restricted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from layoutray.errors import InputError
from layoutray.ocr import lexicon
from layoutray.ocr.settings import AUTO
from layoutray.store import sources

_ASCII = "".join(map(chr, range(0x21, 0x7F)))
# Without the sign of multiplication: on receipts the network reads it for the letter x, between numbers too.
_SYMBOLS = "£€¥¢§©®°±·÷–—‘’“”…•™"
LETTERS: Mapping[str, str] = {
    "eng": "",
    "ces": "áčďéěíňóřšťúůýž",
    "dan": "æøå",
    "deu": "àäéöüß",
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
    "nld": "áàéèëïóöúü",
    "nor": "æøåéèêóòâô",
    "pol": "ąćęłńóśźż",
    "por": "áâãàçéêíóôõúüºª",
    "ron": "ăâîșțşţ",
    "slk": "áäčďéíĺľňóôŕšťúýž",
    "slv": "čšž",
    "spa": "áéíñóúü¿¡ºª",
    "swe": "åäöé",
    "tur": "âçğıİîöşûü",
}
"""Letters beyond ASCII by ISO 639-3 code."""
ALL = "all"
LATIN = frozenset(_ASCII + _SYMBOLS + " ").union(*map(str.lower, LETTERS.values()), *map(str.upper, LETTERS.values()))
"""The characters of all languages that can be named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RapidocrSettings:
    """Settings of PP-OCR. docs/recipes.md explains them."""

    language: str = "eng"
    detection: Literal["tiny", "small"] = "small"
    short_side: int = 736
    certain: float = 0.9
    sure: float = 0.9
    lexicon: str = ""
    lexicon_hash: str = ""

    def __post_init__(self) -> None:
        """Check the values. Set the lexicon's address and hash, so that they are part of a page's identity."""
        if self.language != AUTO:
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
        for name, value in (("certain", self.certain), ("sure", self.sure)):
            if not 0.0 <= value <= 1.0:
                raise InputError(f"{name} is {value}; it must be from 0 to 1")


def alphabet_of(language: str) -> frozenset[str]:
    """The characters of the languages in `language`; empty, which means no restriction, for `all`.

    Args:
        language: ISO 639-3 codes joined by `+`, or `all`.

    Raises:
        InputError: when the characters of a language are not known.
    """
    if language == AUTO:
        raise InputError(
            f"language is {AUTO!r}, which only an ingest can decide; set recognition.rapidocr.language to a code such "
            "as deu; the manifest of an ingest has its decision under `language`"
        )
    if language == ALL:
        return frozenset()
    unknown = [code for code in language.split("+") if code not in LETTERS]
    if unknown:
        raise InputError(
            f"the letters of language {unknown[0]!r} are not known; allowed: {', '.join(sorted(LETTERS))}, joined "
            f"by +, or {ALL!r} for every character that the model knows"
        )
    letters = "".join(LETTERS[code] for code in language.split("+"))
    return frozenset(_ASCII + _SYMBOLS + letters + letters.upper().replace("SS", "ß") + " ")
