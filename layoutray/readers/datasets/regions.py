"""Convert annotated regions of a page (box, label, transcription) to words with tags."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from layoutray.document import Box, Word
from layoutray.document.geometry import smallest_around
from layoutray.document.tags import OUTSIDE, spans, word_tag
from layoutray.readers.segments import line_starts, split_words


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedRegion:
    """An annotated rectangle on a page.

    Attributes:
        label: `O` outside entities.
        text: transcription; empty for an area around words.
        number: index in reading order of the exported word behind the region; None for a region added by an annotator.
        line, block: line and block of that word.
        entity: regions with equal label and entity number are one entity; None continues the previous word's entity.
        group: regions with equal numbers are of one record; None for a region of no record.
    """

    box: Box
    label: str = OUTSIDE
    text: str = ""
    number: int | None = None
    line: int | None = None
    block: int | None = None
    entity: int | None = None
    group: int | None = None


def words_of(regions: Sequence[AnnotatedRegion]) -> tuple[list[Word], int]:
    """The words of a page with IOB2 tags, in reading order, and the number of unused regions.

    A word has the label of the smallest area that contains its centre, else its own label: the words of an area are one
    entity, and have its group. An added region is inserted into the reading order beside or below its neighbours.
    """
    areas = [region for region in regions if not region.text.strip() and region.label != OUTSIDE]
    ordered = _in_order([region for region in regions if region.text.strip()])
    pieces = [(text, box, region) for region in ordered for text, box in split_words(region.text, region.box)]
    boxes = [box for _, box, _ in pieces]
    area_of = list(smallest_around(boxes, [area.box for area in areas]))
    owners = [region if area is None else areas[area] for (_, _, region), area in zip(pieces, area_of, strict=True)]
    # Entity numbers of areas are negative, so that they differ from those of regions.
    entities = [owner.entity if area is None else ~area for owner, area in zip(owners, area_of, strict=True)]
    tags = list(_iob2((owner.label, entity) for owner, entity in zip(owners, entities, strict=True)))
    groups = [owner.group for owner in owners]
    for _, start, end in spans(tags):  # all words of an entity have the first group that one of them has
        first = next((group for group in groups[start:end] if group is not None), None)
        groups[start:end] = [first] * (end - start)
    words: list[Word] = []
    last = max((region.line for region in ordered if region.line is not None), default=-1)
    for (text, box, region), begins, tag, group in zip(pieces, line_starts(boxes), tags, groups, strict=True):
        last += begins and region.line is None
        new_line = last if begins else words[-1].line
        line = new_line if region.line is None else region.line
        block = region.block if region.block is not None else words[-1].block if words else 0
        words.append(Word(text=text, box=box, line=line, block=block, tag=tag, group=group))
    return words, len(regions) - len(ordered) - len(set(area_of) - {None})


def _in_order(regions: Iterable[AnnotatedRegion]) -> list[AnnotatedRegion]:
    placed = sorted((region for region in regions if region.number is not None), key=lambda region: region.number or 0)
    for added in sorted(
        (region for region in regions if region.number is None), key=lambda region: (region.box.y0, region.box.x0)
    ):
        placed.insert(_insert_position(added.box, [region.box for region in placed]), added)
    return placed


def _insert_position(box: Box, others: Sequence[Box]) -> int:
    """Index of `box` in the reading order of `others`: beside boxes of its line, else after the line above it."""
    middle = (box.y0 + box.y1) / 2
    beside = [
        n
        for n, other in enumerate(others)
        if other.y0 <= middle <= other.y1 or box.y0 <= (other.y0 + other.y1) / 2 <= box.y1
    ]
    if left := [n for n in beside if others[n].x0 <= box.x0]:
        return max(left, key=lambda n: others[n].x0) + 1
    if beside:
        return min(beside, key=lambda n: others[n].x0)
    above = [n for n, other in enumerate(others) if other.y1 <= middle]
    if not above:
        return 0
    lowest = max((others[n] for n in above), key=lambda other: other.y1)
    return max(n for n in above if others[n].y0 + others[n].y1 >= 2 * lowest.y0) + 1


def _iob2(labels: Iterable[tuple[str, int | None]]) -> Iterator[str]:
    """IOB2 tags of consecutive words, from the label and the entity number of each."""
    previous, current = OUTSIDE, None
    for label, entity in labels:
        continues = label == previous != OUTSIDE and (entity is None or current is None or entity == current)
        current = current if continues and entity is None else entity
        previous = label
        yield word_tag(label, int(continues))
