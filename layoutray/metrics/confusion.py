"""Which entity types words are taken for."""

from collections import Counter
from collections.abc import Sequence


def count(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    """Words by (true type, predicted type), from IOB2 tags; words outside entities have type `O`."""
    pairs = ((one, other) for page, found in zip(gold, predicted, strict=True) for one, other in zip(page, found, strict=True))
    return Counter((_type(one), _type(other)) for one, other in pairs)


def _type(tag: str) -> str:
    return tag.partition("-")[2] or tag
