"""Entities counted as seqeval does, per type and all together, from one tag per word.

seqeval's default mode, which the LayoutLM papers use: an entity may start with I-, and is correct when its type, first
word and last word are correct.
"""

from collections.abc import Sequence

from layoutray.metrics.item_counts import ItemCounts, count_items, summed


def entity_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, ItemCounts]:
    """Counts per entity type, and under `micro` those of all entities together.

    Args:
        gold, predicted: IOB2 tags, a sequence per page; both have the same lengths.
    """
    from seqeval.metrics.sequence_labeling import get_entities  # takes two seconds; a process that answers needs none

    true, found = (get_entities([list(tags) for tags in pages]) for pages in (gold, predicted))
    kinds = sorted({kind for kind, _, _ in (*true, *found)})
    of_kinds = {
        kind: count_items((one for one in true if one[0] == kind), (one for one in found if one[0] == kind))
        for kind in kinds
    }
    return of_kinds | {"micro": summed(of_kinds.values())}
