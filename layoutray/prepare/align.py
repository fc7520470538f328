"""Transfer the tags of annotated words or areas to the words that an OCR engine has recognised on the same page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from layoutray.document import LabelledArea, Word
from layoutray.document.geometry import smallest_around
from layoutray.document.tags import OUTSIDE, are_entity_tags, spans, word_tag

_MIN_OVERLAP = 0.5
"""Two words match if they share at least this fraction of the smaller word's area."""
_MIN_COVER = 0.1
"""An annotated word must cover at least this fraction of the recognised word. A frame read as a word matches none."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Recognised words with tags.

    Attributes:
        words: the recognised words in their order, with the tags of the annotation.
        matched_entities: annotated entities that match at least one recognised word.
        lost_entities: annotated entities that match none. With region labels, every word counts as one entity.
    """

    words: tuple[Word, ...]
    matched_entities: int
    lost_entities: int


def transfer_tags(recognised: Sequence[Word], truth: Sequence[Word]) -> Alignment:
    """Give each recognised word the tag and the group of the annotated word with the largest overlap.

    The overlap is a fraction of the smaller of the two words.

    IOB2 tags are recomputed: a word begins an entity unless the previous word belongs to the same entity, so an entity
    whose words are not consecutive after recognition becomes several. Words without a match get `O`. Region labels are
    copied; words without a match get none.
    """
    matches = best_matches(recognised, truth)
    if are_entity_tags(word.tag for word in truth):
        return _with_entities(recognised, truth, matches)
    tags = [None if match < 0 else truth[match].tag for match in matches]
    tagged = {index for index, word in enumerate(truth) if word.tag is not None}
    return _alignment(recognised, truth, matches, tags, tagged & set(matches), tagged)


def label_by_area(recognised: Sequence[Word], areas: Sequence[LabelledArea]) -> tuple[Word, ...]:
    """Tag each recognised word with the label of the smallest area around its centre; None outside all areas."""
    around = smallest_around((word.box for word in recognised), [area.box for area in areas])
    labels = (None if number is None else areas[number].label for number in around)
    return tuple(replace(word, tag=label) for word, label in zip(recognised, labels, strict=True))


def _with_entities(recognised: Sequence[Word], truth: Sequence[Word], matches: list[int]) -> Alignment:
    entities = spans([word.tag for word in truth])
    owner = {index: number for number, (_, start, end) in enumerate(entities) for index in range(start, end)}
    owners = [owner.get(match, -1) for match in matches]
    tags = [
        OUTSIDE if now < 0 else word_tag(entities[now][0], int(now == before))
        for before, now in pairwise([-1, *owners])
    ]
    return _alignment(recognised, truth, matches, tags, set(owners) - {-1}, set(range(len(entities))))


def _alignment(
    recognised: Sequence[Word],
    truth: Sequence[Word],
    matches: Sequence[int],
    tags: Sequence[str | None],
    matched: set[int],
    entities: set[int],
) -> Alignment:
    groups = [None if match < 0 else truth[match].group for match in matches]
    words = tuple(
        replace(word, tag=tag, group=group) for word, tag, group in zip(recognised, tags, groups, strict=True)
    )
    return Alignment(words, matched_entities=len(matched), lost_entities=len(entities - matched))


def best_matches(recognised: Sequence[Word], truth: Sequence[Word]) -> list[int]:
    """Index of the annotated word that matches each recognised word; -1 for none."""
    if not recognised or not truth:
        return [-1] * len(recognised)
    annotated = _sides(truth)
    annotated_areas = _areas(annotated)
    return [_best(word, annotated, annotated_areas) for word in _sides(recognised)]


def _best(word: np.ndarray, annotated: np.ndarray, annotated_areas: np.ndarray) -> int:
    width = np.minimum(word[2], annotated[:, 2]) - np.maximum(word[0], annotated[:, 0])
    height = np.minimum(word[3], annotated[:, 3]) - np.maximum(word[1], annotated[:, 1])
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    area = _areas(word[None])[0]
    smaller = np.maximum(np.minimum(area, annotated_areas), np.finfo(float).tiny)
    score = np.where(shared >= _MIN_COVER * area, shared / smaller, 0.0)
    # Several annotated words may be completely inside the recognised word and have the same score: take the largest.
    best = int(np.lexsort((shared, np.round(score, 6)))[-1])
    return best if score[best] >= _MIN_OVERLAP and shared[best] > 0 else -1


def _sides(words: Sequence[Word]) -> np.ndarray:
    return np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in words])


def _areas(sides: np.ndarray) -> np.ndarray:
    return (sides[:, 2] - sides[:, 0]) * (sides[:, 3] - sides[:, 1])
