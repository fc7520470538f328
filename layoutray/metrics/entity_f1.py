"""Entities counted as seqeval does, per type and all together, from one tag per word.

seqeval's default mode, which the LayoutLM papers use: an entity may start with I-, and is correct when its type, first
word and last word are correct.
"""

from collections.abc import Sequence

from layoutray.metrics.item_counts import ItemCounts, count_by_name, summed


def entity_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, ItemCounts]:
    """Counts per entity type, and under `micro` those of all entities together.

    Args:
        gold, predicted: IOB2 tags, a sequence per page; both have the same lengths.
    """
    from seqeval.metrics.sequence_labeling import get_entities  # takes two seconds; a process that answers needs none

    true, found = (get_entities([list(tags) for tags in pages]) for pages in (gold, predicted))
    of_kinds = count_by_name(true, found)
    return of_kinds | {"micro": summed(of_kinds.values())}
