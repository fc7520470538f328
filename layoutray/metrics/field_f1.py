"""Precision, recall and F1 of the fields of documents, by the rules of GEval's MultiLabel-F1 and of SROIE's task 3.

Both rules count the items (`name=value`) that are answered and expected, over all documents; a repeated item counts as
often as it is in both. Their items differ: Kleister replaces blanks in values by underscores and compares in upper case
(`geval_items` and `upper`); SROIE (ICDAR 2019, task 3) takes the value as the receipt writes it (`exact_items`).
GEval has a precision of 1 without answers, and a recall of 1 without expected items; here they have no value.
"""

import re
from collections.abc import Iterable, Sequence

from layoutray.document import Field
from layoutray.metrics.item_counts import ItemCounts, count_by_name, summed

_NOT_IN_ITEMS = re.compile(r"[\s:]+")


def geval_items(fields: Iterable[Field]) -> list[str]:
    """Items as in Kleister's files: runs of blanks and colons in values are underscores."""
    return [f"{field.name}={_NOT_IN_ITEMS.sub('_', field.value.strip())}" for field in fields]


def exact_items(fields: Iterable[Field]) -> list[str]:
    """Items with unchanged values."""
    return [f"{field.name}={field.value}" for field in fields]


def field_f1(
    expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], *, upper: bool = False
) -> dict[str, ItemCounts]:
    """Scores by field name (the part of an item before its first `=`), and under `micro` the score of all fields.

    Args:
        expected, answered: the items of each document.
        upper: compare values in upper case; names are unchanged because they name the scores.
    """

    documents = [*zip(expected, answered, strict=True)]

    def items(side: int) -> list[tuple[str, str, int]]:
        """Name and value of the items of all documents, each with the number of its document."""
        named = [(*item.partition("="), number) for number, of in enumerate(documents) for item in of[side]]
        return [(name, value.upper() if upper else value, number) for name, _, value, number in named]

    scores = count_by_name(items(0), items(1))
    return scores | {"micro": summed(scores.values())}
