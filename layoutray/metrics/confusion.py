"""Which types words are taken for."""

from collections import Counter
from collections.abc import Sequence

from layoutray.document.tags import kind_of


def count(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    """Words by (true type, predicted type), from IOB2 tags or plain labels; words outside entities have type `O`."""
    pairs = (
        (one, other)
        for page, found in zip(gold, predicted, strict=True)
        for one, other in zip(page, found, strict=True)
    )
    return Counter((kind_of(one), kind_of(other)) for one, other in pairs)
