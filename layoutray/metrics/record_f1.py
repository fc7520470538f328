"""Precision, recall and F1 of records: as wholes, and of their fields.

A record is a collection of fields with values. As a whole it is correct if its page has an expected record with exactly
the same fields and values. Its fields are compared with those of the expected record that it is matched with: of all
one-to-one matchings of a page's records, the one with the most common fields counts. A field or a record that repeats
counts as often as it is in both.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from layoutray.metrics.field_f1 import FieldScore

Fields = Sequence[tuple[str, str]]
"""Name and value of each field of a record, in any order."""


def record_f1(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> FieldScore:
    """The score of whole records.

    Args:
        expected, answered: the records of each page.
    """
    return _score(
        _common((tuple(sorted(fields)) for fields in one), (tuple(sorted(fields)) for fields in other))
        for one, other in zip(expected, answered, strict=True)
    )


def record_field_f1(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> FieldScore:
    """The score of the fields in matched records. Arguments as `record_f1`."""
    return _score(
        FieldScore(_most_common_fields(one, other), sum(map(len, one)), sum(map(len, other)))
        for one, other in zip(expected, answered, strict=True)
    )


def ungrouped_field_f1(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> FieldScore:
    """The score of the same fields, whatever their records: no grouping can reach more. Arguments as `record_f1`."""
    return _score(
        _common((field for fields in one for field in fields), (field for fields in other for field in fields))
        for one, other in zip(expected, answered, strict=True)
    )


def _common(expected: Iterable[object], answered: Iterable[object]) -> FieldScore:
    one, other = Counter(expected), Counter(answered)
    return FieldScore((one & other).total(), one.total(), other.total())


def _most_common_fields(expected: Sequence[Fields], answered: Sequence[Fields]) -> int:
    shared = np.array([[_common(one, other).correct for other in answered] for one in expected], np.int64)
    shared = shared.reshape(len(expected), len(answered))
    return int(shared[linear_sum_assignment(shared, maximize=True)].sum())


def _score(pages: Iterable[FieldScore]) -> FieldScore:
    every = list(pages)
    return FieldScore(
        sum(page.correct for page in every), sum(page.expected for page in every), sum(page.answered for page in every)
    )
