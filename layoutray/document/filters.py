"""Page filters for pretraining, after LAMBERT (arXiv:2002.08087, version 1).

LAMBERT pretrains on English pages of 50 to 1,000 words with good OCR and a layout that is not plain text.
"""

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

from layoutray.document.geometry import Box
from layoutray.document.page import Page
from layoutray.errors import InputError

_LANGUAGE = re.compile(r"[a-z]{2}")
_WORDLIKE = re.compile(r"\W*[^\W\d_](?:['’.&/-]?[^\W\d_])+\W*")
_FULL = 0.9
"""A line counts as full when it covers at least this share of the width of the page's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a page must meet; docs/recipes.md explains them. With the defaults, every page passes."""

    languages: tuple[str, ...] = ()
    min_words: int = 0
    max_words: int = 0
    min_confidence: float = 0.0
    min_wordlike: float = 0.0
    max_plain: float = 1.0

    def __post_init__(self) -> None:
        if wrong := [code for code in self.languages if not _LANGUAGE.fullmatch(code)]:
            raise InputError(f"languages has {', '.join(map(repr, wrong))}; give ISO 639-1 codes, e.g. en")
        if self.min_words < 0 or self.max_words < 0 or 0 < self.max_words < self.min_words:
            raise InputError(
                f"min_words is {self.min_words} and max_words is {self.max_words}; "
                "they must be at least 0, and max_words must be 0 or at least min_words"
            )
        for name in ("min_confidence", "min_wordlike", "max_plain"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")

    def failed_filter(self, page: Page) -> str:
        """Name of the first filter that `page` fails, cheap filters first; empty when the page passes all."""
        count, mean_confidence = len(page.words), confidence(page)
        if count < self.min_words:
            return "min_words"
        if 0 < self.max_words < count:
            return "max_words"
        if mean_confidence is not None and mean_confidence < self.min_confidence:
            return "min_confidence"
        if self.min_wordlike and wordlike(page) < self.min_wordlike:
            return "min_wordlike"
        if self.max_plain < 1 and plain(page) > self.max_plain:
            return "max_plain"
        return "languages" if self.languages and language(page) not in self.languages else ""


def confidence(page: Page) -> float | None:
    """Mean OCR confidence of the words of `page`; None when no word has a confidence."""
    confidences = [word.confidence for word in page.words if word.confidence is not None]
    return math.fsum(confidences) / len(confidences) if confidences else None


def wordlike(page: Page) -> float:
    """Share of words with at least two letters and otherwise only punctuation; 0 for a page without words."""
    return sum(_WORDLIKE.fullmatch(word.text) is not None for word in page.words) / max(len(page.words), 1)


def plain(page: Page) -> float:
    """Share of words in lines nearly as wide as the page's text; 0 for a page without words."""
    lines: dict[int, list[Box]] = defaultdict(list)
    for word in page.words:
        lines[word.line].append(word.box)
    if not lines:
        return 0.0
    text = Box.around(word.box for word in page.words)
    full_width = _FULL * (text.x1 - text.x0)
    extents = ((len(boxes), Box.around(boxes)) for boxes in lines.values())
    return sum(count for count, line in extents if line.x1 - line.x0 >= full_width) / len(page.words)


def language(page: Page) -> str:
    """The most likely language of the text, as an ISO 639-1 code (ISO 639-3 for a language without one)."""
    # Lower case: text in capitals is often identified as another language (36 of FUNSD's 184 forms).
    return _identifier().classify(" ".join(word.text for word in page.words).lower())[0]


@cache
def _identifier() -> Any:
    # Imported here because it loads a model of 5 MB, which few callers need.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
