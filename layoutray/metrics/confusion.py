"""Confusion of word types."""

from collections import Counter
from collections.abc import Sequence

from layoutray.document.tags import kind_of


def count(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    """Words by (true type, predicted type), from IOB2 tags or plain labels; words outside entities have type `O`."""
    pairs = (
        (true_tag, predicted_tag)
        for true_tags, predicted_tags in zip(gold, predicted, strict=True)
        for true_tag, predicted_tag in zip(true_tags, predicted_tags, strict=True)
    )
    return Counter((kind_of(true_tag), kind_of(predicted_tag)) for true_tag, predicted_tag in pairs)
