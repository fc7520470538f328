"""From the regions that people have drawn, labelled and transcribed on a page to words with tags."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from layoutray.document import Box, Word
from layoutray.document.geometry import smallest_around
from layoutray.document.tags import OUTSIDE
from layoutray.readers.segments import line_starts, split_words


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangle on a page, with what a person has said of it.

    Attributes:
        label: `O` where it is of no entity.
        text: its words; an area around words has none.
        number: of the word that it was made from, in reading order; None where a person has added it.
        line, block: of that word.
        entity: regions of one label and one entity are one entity; None belongs to that of the word before.
    """

    box: Box
    label: str = OUTSIDE
    text: str = ""
    number: int | None = None
    line: int | None = None
    block: int | None = None
    entity: int | None = None


def words_of(regions: Sequence[Region]) -> tuple[list[Word], int]:
    """The words of a page with IOB2 tags, in reading order, and how many regions come to nothing.

    A word takes the label of the smallest area that holds its centre, and its own where there is none: who draws an area around words
    means them all, as one entity. Regions that people have added stand beside or below the ones that they are next to.
    """
    areas = [region for region in regions if not region.text.strip() and region.label != OUTSIDE]
    ordered = _in_order([region for region in regions if region.text.strip()])
    pieces = [(text, box, region) for region in ordered for text, box in split_words(region.text, region.box)]
    boxes = [box for _, box, _ in pieces]
    around = list(smallest_around(boxes, [area.box for area in areas]))
    marks = (
        (region.label, region.entity) if at is None else (areas[at].label, ~at)
        for (_, _, region), at in zip(pieces, around, strict=True)
    )
    tags = _iob2(marks)
    words: list[Word] = []
    last = max((region.line for region in ordered if region.line is not None), default=-1)
    for (text, box, region), begins, tag in zip(pieces, line_starts(boxes), tags, strict=True):
        last += begins and region.line is None
        beside = last if begins else words[-1].line
        line = beside if region.line is None else region.line
        block = region.block if region.block is not None else words[-1].block if words else 0
        words.append(Word(text, box, line=line, block=block, tag=tag))
    return words, len(regions) - len(ordered) - len(set(around) - {None})


def _in_order(regions: Iterable[Region]) -> list[Region]:
    placed = sorted((region for region in regions if region.number is not None), key=lambda region: region.number or 0)
    for added in sorted(
        (region for region in regions if region.number is None), key=lambda region: (region.box.y0, region.box.x0)
    ):
        placed.insert(_place(added.box, [region.box for region in placed]), added)
    return placed


def _place(box: Box, others: Sequence[Box]) -> int:
    """Where `box` belongs in the reading order of `others`: beside what is on its line, else below what is above it."""
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
    return max(above, key=lambda n: others[n].y1) + 1 if above else 0


def _iob2(marks: Iterable[tuple[str, int | None]]) -> Iterator[str]:
    """Tags of words in a row, from the label and the entity of each."""
    before, current = OUTSIDE, None
    for label, entity in marks:
        continues = label == before != OUTSIDE and (entity is None or current is None or entity == current)
        current = current if continues and entity is None else entity
        before = label
        yield OUTSIDE if label == OUTSIDE else f"{'I' if continues else 'B'}-{label}"
