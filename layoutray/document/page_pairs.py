"""Whether a page goes on with the document of the page before it: printed numbers, running lines, words, letters."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from layoutray.document.page import Page, Word

_NUMBERED = re.compile(
    r"\b(?:page|seite|blatt|pagina|página|p\.|pg\.?)\s*:?\s*(\d{1,3})(?:\s*(?:of|von|de|/)\s*(\d{1,3}))?\b", re.I
)
_BARE = re.compile(r"[-–—(\[~\s]*(\d{1,3})(?:\s*(?:of|von|de|/)\s*(\d{1,3}))?[-–—)\]~.\s]*")
_EDGE_LINES = 2
_SHORT = 4
"""Letters of the shortest words that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is compared of a page.

    Attributes:
        number, count: as printed: page `number` of `count`; 0 for what is not printed.
        running: words of the lines at the top and at the bottom.
        words: all of at least four letters.
        height: median of all words, as a share of the page's width.
    """

    number: int
    count: int
    running: frozenset[str]
    words: frozenset[str]
    height: float


def evidence(pages: Sequence[Page]) -> list[dict[str, float]]:
    """What says of each page but the first that it goes on with the document of the page before it."""
    looks = [_look(page) for page in pages]
    having = Counter(word for look in looks for word in look.words)
    rarity = {word: math.log((1 + len(looks)) / count) for word, count in having.items()}
    return [_compared(before, look, rarity) for before, look in pairwise(looks)]


def _compared(before: _Look, page: _Look, rarity: dict[str, float]) -> dict[str, float]:
    common, own, other = (
        sum(rarity[word] for word in words) for words in (before.words & page.words, page.words, before.words)
    )
    running = len(before.running & page.running) / max(len(page.running), 1)
    return {
        "follows": float(page.number > 1 and page.number == (before.number or 1) + 1),
        "begins": float(page.number == 1),
        "ended": float(before.count > 0 and before.number == before.count),
        "running": running,
        "height": min(abs(math.log(page.height / before.height)), 1.0),
        "similar": math.log(common / math.sqrt((own + 1) * (other + 1)) + 0.01),
    }


def _look(page: Page) -> _Look:
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in page.words:
        lines[word.line].append(word)
    from_top = sorted(lines.values(), key=lambda line: min(word.box.y0 for word in line))
    texts = [" ".join(word.text for word in line) for line in from_top]
    edges = [*texts[:_EDGE_LINES], *texts[-_EDGE_LINES:]]
    found = [match for line in edges if (match := _NUMBERED.search(line) or _BARE.fullmatch(line))]
    number, count = found[-1].groups() if found else (0, 0)
    return _Look(
        number=int(number),
        count=int(count or 0),
        running=frozenset(_compared_words(" ".join(edges))),
        words=frozenset(_compared_words(" ".join(texts))),
        height=(median(word.box.y1 - word.box.y0 for word in page.words) * page.height + 1) / page.width,
    )


def _compared_words(text: str) -> set[str]:
    return {word for part in text.casefold().split() if len(word := part.strip(".,:;()\"'")) >= _SHORT}
