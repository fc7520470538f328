"""Share of a page's true words that an OCR engine found, whatever their boxes and order."""

import math
import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[^\W_]+")


def word_recall(recognised_texts: Iterable[str], truth_texts: Iterable[str]) -> tuple[float, float]:
    """Recall and precision over bags of words, upper-cased and split at everything but letters and digits.

    Returns:
        The share of true words that were recognised, and the share of recognised words that are true; NaN without any
        such word.
    """
    recognised, truth = _bag(recognised_texts), _bag(truth_texts)
    common = (recognised & truth).total()
    return _share(common, truth.total()), _share(common, recognised.total())


def _bag(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text.upper()))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
