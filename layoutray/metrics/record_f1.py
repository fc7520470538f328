"""Precision, recall and F1 of records: as wholes, and of their fields.

A record is a collection of fields with values. As a whole it is correct if its page has an expected record with exactly
the same fields and values. Its fields are compared with those of the expected record that it is matched with: of all
one-to-one matchings of a page's records, the one with the most common fields counts. A field or a record that repeats
counts as often as it is in both.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from layoutray.metrics.item_counts import ItemCounts, count_items, summed

Fields = Sequence[tuple[str, str]]
"""Name and value of each field of a record, in any order."""


def record_f1(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> ItemCounts:
    """The score of whole records; `expected` and `answered` are the records of each page."""
    return summed(
        count_items((tuple(sorted(fields)) for fields in one), (tuple(sorted(fields)) for fields in other))
        for one, other in zip(expected, answered, strict=True)
    )


def record_field_f1(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> ItemCounts:
    """The score of the fields in matched records. Arguments as `record_f1`."""
    from scipy.optimize import linear_sum_assignment  # takes half a second, and a process that answers needs none

    pages: list[ItemCounts] = []
    for one, other in zip(expected, answered, strict=True):
        shared = np.array([[count_items(left, right).correct for right in other] for left in one], np.int64)
        shared = shared.reshape(len(one), len(other))
        correct = int(shared[linear_sum_assignment(shared, maximize=True)].sum())
        pages.append(ItemCounts(correct, sum(map(len, one)), sum(map(len, other))))
    return summed(pages)


def ungrouped_field_f1(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> ItemCounts:
    """The score of the same fields, whatever their records: no grouping can reach more. Arguments as `record_f1`."""
    return summed(
        count_items(chain.from_iterable(one), chain.from_iterable(other))
        for one, other in zip(expected, answered, strict=True)
    )
