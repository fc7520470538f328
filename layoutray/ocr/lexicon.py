"""Words that occur on many of one's own pages, with which recognition decides between similar words.

A lexicon is a text file. Each line has a word, a tab, and the number of pages that contain the word. A word is in upper
case and has at least three letters and nothing else.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from rapidfuzz.distance import Levenshtein

from layoutray.document import Page
from layoutray.errors import DocumentError, InputError
from layoutray.store import sources

_LETTERS = re.compile(r"[^\W\d_]{3,}")
_MIN_CONFIDENCE = 0.9
"""Words of a lower OCR confidence are not counted."""
_MIN_PAGES = 3
"""Words of fewer pages are left out: many of them are misread."""
_UNKNOWN = 1e-5
"""Share of words that is added to that of each word, so that unknown words have a probability."""
_SHORT = 4
"""Letters; words of no more letters are similar only to words of the same length."""


class Lexicon:
    """Words with their frequencies: the number of pages that contain each word."""

    def __init__(self, counts: Mapping[str, int], fingerprint: str = "") -> None:
        self.fingerprint = fingerprint
        self._counts = counts
        self._total = max(sum(counts.values()), 1)
        self._by_length: dict[int, list[str]] = defaultdict(list)
        for word in counts:
            self._by_length[len(word)].append(word)

    def __contains__(self, word: str) -> bool:
        return word in self._counts

    def log_probability(self, word: str) -> float:
        """Logarithm of the share of a word in upper case, also of one that the lexicon does not contain."""
        return math.log(self._counts.get(word, 0) / self._total + _UNKNOWN)

    def similar(self, word: str) -> list[str]:
        """The words that differ from `word`, in upper case, by one inserted, deleted or replaced letter."""
        lengths = (len(word),) if len(word) <= _SHORT else (len(word) - 1, len(word), len(word) + 1)
        return [
            known
            for length in lengths
            for known in self._by_length[length]
            if Levenshtein.distance(word, known, score_cutoff=1) == 1
        ]


def count_words(pages: Iterable[Page]) -> dict[str, int]:
    """The number of pages that contain each word of at least three pages, the most frequent words first."""
    counts: Counter[str] = Counter()
    for page in pages:
        sure = (word for word in page.words if word.confidence is None or word.confidence >= _MIN_CONFIDENCE)
        counts.update({letters for word in sure for letters in _LETTERS.findall(word.text.upper())})
    kept = ((word, count) for word, count in counts.items() if count >= _MIN_PAGES)
    return dict(sorted(kept, key=lambda word_and_count: (-word_and_count[1], word_and_count[0])))


def to_bytes(counts: Mapping[str, int]) -> bytes:
    """The file of a lexicon."""
    return "".join(f"{word}\t{count}\n" for word, count in counts.items()).encode()


def load(uri: str) -> Lexicon:
    """The lexicon in a file. Raises InputError when the file is missing or is not a lexicon."""
    try:
        data = sources.read_bytes(uri)
    except DocumentError as error:
        raise InputError(f"the lexicon cannot be read: {error}; make one with `layoutray export lexicon`") from error
    counts: dict[str, int] = {}
    for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
        word, _, count = line.partition("\t")
        if not (_LETTERS.fullmatch(word) and word == word.upper() and count.isdecimal() and int(count) > 0):
            raise InputError(
                f"line {number} of the lexicon {uri} is {line[:40]!r}; it must be a word of at least three letters in "
                "upper case, a tab, and a number of pages"
            )
        counts[word] = int(count)
    return Lexicon(counts, hashlib.sha256(data).hexdigest()[:12])
