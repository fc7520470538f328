"""Whether a text is of letters in the order of a language: wrong tables of Unicode values exchange letters.

The measure is how common the pairs of adjacent letters are, from 0 to 9. It judges texts of Latin letters only. Samples
of 25 words in each of 27 languages have at least 6.7. Of samples whose letters are shifted by 1 to 25 places, 99 % have
less than 6.0, the limit, and half of them less than 4.8 (`docs/results/ocr.md`).
"""

import unicodedata
from collections.abc import Iterable

import numpy as np

_LEAST = 6.0
_FEWEST_PAIRS = 40
"""A text with fewer pairs is plausible."""
_MOSTLY_LATIN = 0.8  # share of letters
_NO_LETTER = 26
_NUMBERS = bytes(code - ord("a") if code in b"abcdefghijklmnopqrstuvwxyz" else _NO_LETTER for code in range(256))

_COMMON = """
77785677878889675988776477
75438122743635720754722062
83537118746545822656721046
84459343844546841765754066
77787676777889664988775657
72236532742524710646611151
84157365755645730756732063
82448222745545720646764053
86778676677879764788674556
83358333625445730454742022
84458236756655820667753064
85468555866766743467753063
86348363844565760455722063
84788587866547844578753175
67776676767888673887776356
82438336733644861855632042
10000000100000000000700000
86678565856666854677764266
84648445857666773578764066
94438447856546840867865264
76677565767778761777564456
83348232833535730654631064
71336115602214620352401052
51315101501101440004420220
75656454545655640666554044
75457143734556641445654064
"""
"""How common a letter (column) is after another (row), a to z: the logarithm of the pair's share of all pairs, scaled
to 0..9. Mean over the most frequent words of 27 languages with Latin letters, each weighted by its frequency.

From the data of the package wordfreq by Robyn Speer (CC BY-SA 4.0); `python -m benchmarks letter-pairs` makes it."""
PAIRS = np.array([list(map(int, row)) for row in _COMMON.split()], dtype=np.float64)


def implausible(words: Iterable[str]) -> float | None:
    """The mean of the pairs, 0..9, if a language would have more; None otherwise."""
    mean = mean_of_pairs(words)
    return mean if mean is not None and mean < _LEAST else None


def mean_of_pairs(words: Iterable[str]) -> float | None:
    """The mean of the pairs in words of at least three letters, 0..9; None for a text that is not judged."""
    decomposed = unicodedata.normalize("NFKD", " ".join(words).casefold())
    letters = np.frombuffer(decomposed.encode("ascii", "ignore").join((b" ", b" ")).translate(_NUMBERS), dtype=np.uint8)
    is_letter = letters < _NO_LETTER
    others = 0 if decomposed.isascii() else sum(one.isalpha() for one in decomposed if not one.isascii())
    if (num_latin := np.count_nonzero(is_letter)) < _MOSTLY_LATIN * (num_latin + others):
        return None  # abbreviations among words of another script
    in_word = is_letter[1:-2] & is_letter[2:-1] & (is_letter[:-3] | is_letter[3:])
    pairs = (letters[1:-2] * np.uint16(_NO_LETTER) + letters[2:-1])[in_word]
    return float(PAIRS.ravel()[pairs].mean()) if len(pairs) >= _FEWEST_PAIRS else None
