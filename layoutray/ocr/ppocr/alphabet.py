"""The characters of languages, to which recognition can be restricted."""

from collections.abc import Mapping

from layoutray.errors import InputError

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
