"""Carry an annotator's tags, of words or of areas, over to the words that an OCR engine saw on the same page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from layoutray.document import LabelledArea, Word
from layoutray.document.geometry import smallest_around
from layoutray.document.tags import OUTSIDE, are_entity_tags, spans

_LEAST_SHARE = 0.5
"""Of the smaller word's area that two words must share to be the same one."""
_LEAST_COVER = 0.1
"""Of the recognised word's area that an annotated one must fill: a frame taken for a word holds many, and is none of them."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Recognised words with tags.

    Attributes:
        words: as recognised, in their order, with the annotation's tags.
        matched_entities: annotated entities that at least one recognised word stands for.
        lost_entities: annotated entities that none stands for. Of region labels every word counts as one entity.
    """

    words: tuple[Word, ...]
    matched_entities: int
    lost_entities: int


def transfer_tags(recognised: Sequence[Word], truth: Sequence[Word]) -> Alignment:
    """Give each recognised word the tag of the annotated word that it overlaps most, in shares of the smaller of the two.

    IOB2 tags are made anew: a word begins an entity unless the word before it belongs to the same one, so an entity
    that recognition tears apart becomes several; words that match nothing become `O`. Region labels are copied, and words
    that match nothing have none.
    """
    matches = _matches(recognised, truth)
    if are_entity_tags(word.tag for word in truth):
        return _with_entities(recognised, truth, matches)
    tags = [None if match < 0 else truth[match].tag for match in matches]
    tagged = {index for index, word in enumerate(truth) if word.tag is not None}
    return _alignment(recognised, tags, tagged & set(matches), tagged)


def label_by_area(recognised: Sequence[Word], areas: Sequence[LabelledArea]) -> tuple[Word, ...]:
    """Tag each recognised word with the label of the smallest area that holds its centre; words outside all areas get none."""
    around = smallest_around((word.box for word in recognised), [area.box for area in areas])
    labels = (None if number is None else areas[number].label for number in around)
    return tuple(replace(word, tag=label) for word, label in zip(recognised, labels, strict=True))


def _with_entities(recognised: Sequence[Word], truth: Sequence[Word], matches: list[int]) -> Alignment:
    entities = spans([word.tag for word in truth])
    owner = {index: number for number, (_, start, end) in enumerate(entities) for index in range(start, end)}
    owners = [owner.get(match, -1) for match in matches]
    tags = [
        OUTSIDE if now < 0 else f"{'I' if now == before else 'B'}-{entities[now][0]}"
        for before, now in pairwise([-1, *owners])
    ]
    return _alignment(recognised, tags, set(owners) - {-1}, set(range(len(entities))))


def _alignment(recognised: Sequence[Word], tags: Sequence[str | None], found: set[int], wanted: set[int]) -> Alignment:
    words = tuple(replace(word, tag=tag) for word, tag in zip(recognised, tags, strict=True))
    return Alignment(words, matched_entities=len(found), lost_entities=len(wanted - found))


def _matches(recognised: Sequence[Word], truth: Sequence[Word]) -> list[int]:
    """Index of the annotated word that each recognised word stands for; -1 for none."""
    if not recognised or not truth:
        return [-1] * len(recognised)
    theirs = _sides(truth)
    their_areas = _areas(theirs)
    return [_best(ours, theirs, their_areas) for ours in _sides(recognised)]


def _best(ours: np.ndarray, theirs: np.ndarray, their_areas: np.ndarray) -> int:
    wide = np.minimum(ours[2], theirs[:, 2]) - np.maximum(ours[0], theirs[:, 0])
    high = np.minimum(ours[3], theirs[:, 3]) - np.maximum(ours[1], theirs[:, 1])
    shared = np.maximum(wide, 0) * np.maximum(high, 0)
    area = _areas(ours[None])[0]
    smaller = np.maximum(np.minimum(area, their_areas), np.finfo(float).tiny)
    score = np.where(shared >= _LEAST_COVER * area, shared / smaller, 0.0)
    # Of several words that lie wholly inside, the largest says most about this one.
    best = int(np.lexsort((shared, np.round(score, 6)))[-1])
    return best if score[best] >= _LEAST_SHARE and shared[best] > 0 else -1


def _sides(words: Sequence[Word]) -> np.ndarray:
    return np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in words])


def _areas(sides: np.ndarray) -> np.ndarray:
    return (sides[:, 2] - sides[:, 0]) * (sides[:, 3] - sides[:, 1])
