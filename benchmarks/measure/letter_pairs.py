"""How common pairs of letters are in the languages of the package `wordfreq`, and which texts the measure refuses.

The words and frequencies are by Robyn Speer and others, CC BY-SA 4.0.
"""

import string
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import wordfreq
from numpy.typing import NDArray

from layoutray.ocr.plausible import implausible, mean_of_pairs

LANGUAGES = (
    *("ca", "cs", "da", "de", "en", "es", "fi", "fil", "fr", "hu", "id", "is", "it", "lt"),
    *("lv", "ms", "nb", "nl", "pl", "pt", "ro", "sh", "sk", "sl", "sv", "tr", "vi"),
)
"""The languages of `wordfreq` that are written in Latin letters."""
_TABLE_WORDS = 20_000
"""Most frequent words of each language that the table is made of."""
_RAREST = 1e-6
"""Added to the share of each pair, so that one that never occurs has a logarithm."""
_SAMPLED_WORDS = 5000
_WORDS = 25
"""Words of a sample."""


def table() -> NDArray[np.int64]:
    """The logarithm of the share of each pair of letters, 26 x 26, scaled to 0..9; mean share over all languages."""
    shares = np.mean([_shares(language) for language in LANGUAGES], axis=0)
    logarithms = np.log(shares + _RAREST)
    span = logarithms.max() - logarithms.min()
    return np.rint(9 * (logarithms - logarithms.min()) / span).astype(np.int64)


def as_text(pairs: NDArray[np.int64]) -> str:
    """The table as `layoutray/ocr/plausible.py` has it: a line for each first letter."""
    return "\n".join("".join(map(str, row)) for row in pairs.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Samples of one kind: how many are judged, how many of them are refused, and their least and median mean."""

    kind: str
    judged: int
    refused: int
    least: float
    median: float


def refused(samples: int, seed: int) -> list[Refused]:
    """What is refused of samples of each language: as they are, with a shifted alphabet, with exchanged letters.

    These words are those of the table, so the first line is no test on unseen words.
    """
    generator = np.random.default_rng(seed)
    drawn = [sample for language in LANGUAGES for sample in _samples(language, samples, generator)]
    kinds: list[tuple[str, Callable[[], str]]] = [
        ("as they are", lambda: string.ascii_lowercase),
        ("shifted alphabet", lambda: _shifted(int(generator.integers(1, 26)))),
        ("exchanged letters", lambda: "".join(generator.permutation(list(string.ascii_lowercase)))),
    ]
    return [_refused(kind, [_replaced(sample, letters()) for sample in drawn]) for kind, letters in kinds]


def _shares(language: str) -> NDArray[np.float64]:
    words = wordfreq.top_n_list(language, _TABLE_WORDS)
    plain = [_plain(word) for word in words]
    codes = np.frombuffer(" ".join([*plain, ""]).encode(), dtype=np.uint8).astype(np.int64) - ord("a")
    weights = np.repeat([wordfreq.word_frequency(word, language) for word in words], [len(one) + 1 for one in plain])
    pair = ((codes[:-1] >= 0) & (codes[:-1] < 26) & (codes[1:] >= 0) & (codes[1:] < 26)).nonzero()[0]
    counts = np.bincount(26 * codes[pair] + codes[pair + 1], weights[pair], minlength=26 * 26).reshape(26, 26)
    return counts / counts.sum()


def _samples(language: str, count: int, generator: np.random.Generator) -> Iterator[list[str]]:
    words = wordfreq.top_n_list(language, _SAMPLED_WORDS)
    chances = np.array([wordfreq.word_frequency(word, language) for word in words])
    for _ in range(count):
        yield [words[number] for number in generator.choice(len(words), _WORDS, p=chances / chances.sum())]


def _refused(kind: str, samples: Sequence[Sequence[str]]) -> Refused:
    judged = [(sample, mean) for sample in samples if (mean := mean_of_pairs(sample)) is not None]
    means = [mean for _, mean in judged]
    count = sum(implausible(sample) is not None for sample, _ in judged)
    return Refused(
        kind=kind, judged=len(judged), refused=count, least=min(means), median=float(np.median(means))
    )  # fmt: skip


def _shifted(places: int) -> str:
    return string.ascii_lowercase[places:] + string.ascii_lowercase[:places]


def _replaced(sample: Sequence[str], letters: str) -> list[str]:
    return [_plain(word).translate(str.maketrans(string.ascii_lowercase, letters)) for word in sample]


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKD", word.casefold()).encode("ascii", "ignore").decode()
