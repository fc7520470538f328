"""Whether a text is of letters in the order of a language: wrong tables of Unicode values exchange letters.

The measure is how common the pairs of adjacent letters are, from 0 to 9. It judges texts of Latin letters only. Samples
of 25 words in each of 27 languages have at least 6.7. Of samples whose letters are shifted by 1 to 25 places, 98 % have
less than 6.0, the limit, and half of them less than 4.7 (`docs/results/ocr.md`).
"""

import unicodedata
from collections.abc import Iterable

import numpy as np

_LEAST = 6.0
_FEWEST_PAIRS = 40
"""A text with fewer pairs is plausible."""
_MOSTLY_LATIN = 0.8  # share of letters
_A, _Z = b"az"

_COMMON = """
77786677878889675988776477
75437122743635720754732062
83537118846535822656721046
84459343844546841665754066
77787676777889664988775657
72236532742524710646621151
84157365755645730756732063
82448212745545721646764052
86778676677879764788674567
83358332625445730354742022
83457236756645820667753063
85568555866766743367753063
86348363844565760455722163
84788587866547844478753175
67776676767888673887776456
82438336733644861855732142
10000000100100000000700000
86678565856666854677764266
84748445857666774578764066
94438447855546840867865264
76677565767778761777564456
83348232833525730554631064
71336115612314620352401052
51315101501111440004420220
75656454545655640666554144
75457143735556641445654064
"""
"""How common a letter (column) is after another (row), a to z: the logarithm of the pair's share of all pairs, scaled
to 0..9. Mean over the most frequent words of 27 languages with Latin letters, each weighted by its frequency."""
_PAIRS = np.array([list(map(int, row)) for row in _COMMON.split()], dtype=np.float64)


def implausible(words: Iterable[str]) -> float | None:
    """The mean of the pairs in words of at least three letters, 0..9, if a language would have more; None otherwise."""
    decomposed = unicodedata.normalize("NFKD", " ".join(words).casefold())
    plain = decomposed.encode("ascii", "ignore")
    codes = np.frombuffer(b" " + plain + b" ", dtype=np.uint8).astype(np.int64)
    is_letter = (codes >= _A) & (codes <= _Z)
    others = 0 if decomposed.isascii() else sum(one.isalpha() for one in decomposed if not one.isascii())
    if (num_latin := is_letter.sum()) < _MOSTLY_LATIN * (num_latin + others):
        return None  # abbreviations among words of another script
    in_word = is_letter[1:-2] & is_letter[2:-1] & (is_letter[:-3] | is_letter[3:])
    first = np.flatnonzero(in_word) + 1
    if len(first) < _FEWEST_PAIRS:
        return None
    mean = float(_PAIRS[codes[first] - _A, codes[first + 1] - _A].mean())
    return mean if mean < _LEAST else None
