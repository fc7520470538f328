"""Transfer the tags of annotated words or areas to the words that an OCR engine has recognised on the same page."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from layoutray.document import LabelledArea, Word
from layoutray.document.geometry import smallest_around
from layoutray.document.tags import OUTSIDE, are_entity_tags, spans, word_tag

_MIN_OVERLAP = 0.5
"""Two words match if they share at least this fraction of the smaller word's area."""
_MIN_COVER = 0.1
"""An annotated word must cover at least this fraction of the recognised word. A frame read as a word matches none."""


def transfer_tags(recognised: Sequence[Word], truth: Sequence[Word]) -> tuple[tuple[Word, ...], int]:
    """Give each recognised word the tag and the group of the annotated word with the largest overlap.

    The overlap is a fraction of the smaller of the two words.

    IOB2 tags are recomputed: a word begins an entity unless the previous word belongs to the same entity, so an entity
    whose words are not consecutive after recognition becomes several. Words without a match get `O`. Region labels are
    copied; words without a match get none.

    Returns:
        The words, and the number of annotated entities that match none. A region label is an entity of one word.
    """
    matches = best_matches(recognised, truth)
    if are_entity_tags(word.tag for word in truth):
        entities = spans([word.tag for word in truth])
        owner = {index: number for number, (_, start, end) in enumerate(entities) for index in range(start, end)}
        owners = [owner.get(match, -1) for match in matches]
        tags = [
            OUTSIDE if now < 0 else word_tag(entities[now][0], int(now == before))
            for before, now in pairwise([-1, *owners])
        ]
        matched, wanted = set(owners) - {-1}, set(range(len(entities)))
    else:
        tags = [None if match < 0 else truth[match].tag for match in matches]
        wanted = {index for index, word in enumerate(truth) if word.tag is not None}
        matched = wanted & set(matches)
    groups = [None if match < 0 else truth[match].group for match in matches]
    words = tuple(
        replace(word, tag=tag, group=group) for word, tag, group in zip(recognised, tags, groups, strict=True)
    )
    return words, len(wanted - matched)


def label_by_area(recognised: Sequence[Word], areas: Sequence[LabelledArea]) -> tuple[Word, ...]:
    """Tag each recognised word with the label of the smallest area around its centre; None outside all areas."""
    around = smallest_around((word.box for word in recognised), [area.box for area in areas])
    labels = (None if number is None else areas[number].label for number in around)
    return tuple(replace(word, tag=label) for word, label in zip(recognised, labels, strict=True))


def best_matches(recognised: Sequence[Word], truth: Sequence[Word]) -> list[int]:
    """Index of the annotated word that matches each recognised word; -1 for none."""
    if not truth:
        return [-1] * len(recognised)
    annotated, matches = _sides(truth), list[int]()
    annotated_areas = (annotated[:, 2] - annotated[:, 0]) * (annotated[:, 3] - annotated[:, 1])
    for x0, y0, x1, y1 in _sides(recognised):
        width = np.minimum(x1, annotated[:, 2]) - np.maximum(x0, annotated[:, 0])
        height = np.minimum(y1, annotated[:, 3]) - np.maximum(y0, annotated[:, 1])
        shared, area = np.maximum(width, 0) * np.maximum(height, 0), (x1 - x0) * (y1 - y0)
        smaller = np.maximum(np.minimum(area, annotated_areas), np.finfo(float).tiny)
        score = np.where(shared >= _MIN_COVER * area, shared / smaller, 0.0)
        # Several annotated words may be inside the recognised word as a whole, with the same score: take the largest.
        best = int(np.lexsort((shared, np.round(score, 6)))[-1])
        matches.append(best if score[best] >= _MIN_OVERLAP and shared[best] > 0 else -1)
    return matches


def _sides(words: Sequence[Word]) -> np.ndarray:
    return np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in words])
