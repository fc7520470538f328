"""Which pages are worth learning language and layout from, as LAMBERT's authors chose theirs (arXiv:2002.08087, first version):
English, of 50 to 1,000 words, well recognised, and not plain text without a layout.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from layoutray.document.geometry import Box
from layoutray.document.page import Page
from layoutray.errors import InputError

_LANGUAGE = re.compile(r"[a-z]{2}")
_WORDLIKE = re.compile(r"\W*[^\W\d_](?:['’.&/-]?[^\W\d_])+\W*")
_FULL = 0.9
"""Share of the width of a page's text from which on a line is full."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a page must be like; as it stands, every page passes.

    Attributes:
        languages: that its text may be in, as ISO 639-1 codes; none: any.
        min_words, max_words: how many words it may have; a `max_words` of 0 is no limit.
        min_confidence: least mean of the OCR engine's confidence in its words, 0 to 1; words that were not read by OCR have none, and pass.
        min_wordlike: least share of words that are made of letters, 0 to 1: what is misread, and tables of numbers, have few.
        max_plain: largest share of words in lines that run over 0.9 of the width of its text, 0 to 1: in plain text that is most.
    """

    languages: tuple[str, ...] = ()
    min_words: int = 0
    max_words: int = 0
    min_confidence: float = 0.0
    min_wordlike: float = 0.0
    max_plain: float = 1.0

    def __post_init__(self) -> None:
        if wrong := [code for code in self.languages if not _LANGUAGE.fullmatch(code)]:
            raise InputError(f"languages names {', '.join(map(repr, wrong))}; give ISO 639-1 codes, such as en")
        if self.min_words < 0 or self.max_words < 0 or 0 < self.max_words < self.min_words:
            raise InputError(
                f"min_words is {self.min_words} and max_words {self.max_words}; they must not be negative, nor leave no page"
            )
        for name in ("min_confidence", "min_wordlike", "max_plain"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be a share, from 0 to 1")

    def refusal(self, page: Page) -> str:
        """The first filter that refuses `page`, cheap ones first, by the name of its field; empty where it passes."""
        return next(self._refusals(page), "")

    def _refusals(self, page: Page) -> Iterator[str]:
        count = len(page.words)
        if count < self.min_words:
            yield "min_words"
        if 0 < self.max_words < count:
            yield "max_words"
        read = confidence(page)
        if read is not None and read < self.min_confidence:
            yield "min_confidence"
        if self.min_wordlike and wordlike(page) < self.min_wordlike:
            yield "min_wordlike"
        if self.max_plain < 1 and plain(page) > self.max_plain:
            yield "max_plain"
        if self.languages and language(page) not in self.languages:
            yield "languages"


def confidence(page: Page) -> float | None:
    """Mean confidence of its words; None where none has any."""
    given = [word.confidence for word in page.words if word.confidence is not None]
    return math.fsum(given) / len(given) if given else None


def wordlike(page: Page) -> float:
    """Share of its words that are two letters or more, but for marks around and between them; 0 of no words."""
    return sum(_WORDLIKE.fullmatch(word.text) is not None for word in page.words) / max(len(page.words), 1)


def plain(page: Page) -> float:
    """Share of its words that stand in lines nearly as wide as all of its text; 0 of no words."""
    lines: dict[int, list[Box]] = defaultdict(list)
    for word in page.words:
        lines[word.line].append(word.box)
    if not lines:
        return 0.0
    widths = [(sides.x1 - sides.x0, len(boxes)) for boxes in lines.values() for sides in [Box.around(boxes)]]
    text = Box.around(word.box for word in page.words)
    return sum(count for width, count in widths if width >= _FULL * (text.x1 - text.x0)) / len(page.words)


def language(page: Page) -> str:
    """The likeliest language of its text, as an ISO 639-1 code (or one of ISO 639-3 where it has none)."""
    # Capitals, which forms and receipts are full of, look like other languages: of FUNSD's 184 forms 36 did.
    return _identifier().classify(" ".join(word.text for word in page.words).lower())[0]


@cache
def _identifier() -> Any:
    # A model of 5 MB within the package, 139 languages, kept up; imported here, as few who handle documents ask for a language.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
