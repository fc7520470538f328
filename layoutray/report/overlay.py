"""A page with what was found on it: boxes by entity type, labels with confidence, and a panel that lists the answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from layoutray.answers import Entity
from layoutray.report.canvas import FAINT, INK, PAPER, Fonts, Rectangle, cut, grown, load_fonts, resized
from layoutray.report.palette import Colour, colours_of, ink_on

SHOWN_WIDTH = (900, 1600)
"""Pixels. Narrower pages are enlarged and wider ones reduced to this range, so that labels are readable and files stay small."""

_PANEL: Colour = (246, 247, 249)


@dataclass(frozen=True, slots=True)
class _Mark:
    """One region of an entity in pixels of the shown page."""

    entity: Entity
    place: Rectangle
    colour: Colour


def draw(
    image: Image.Image | NDArray[np.uint8],
    entities: Sequence[Entity],
    *,
    page_number: int = 1,
    truth: Sequence[Entity] = (),
    types: Iterable[str] = (),
) -> Image.Image:
    """The page with `entities` in translucent boxes and a panel to its right.

    Args:
        image: the page, of the size that the entities' polygons are pixels of.
        entities: what was found; only regions on page `page_number` are drawn.
        truth: what should have been found; drawn as dashed outlines.
        types: all entity types of the model, so that colours agree between pages that show different ones.
    """
    page = image if isinstance(image, Image.Image) else Image.fromarray(image)
    shown, scale = resized(page, SHOWN_WIDTH)
    colours = colours_of([*types, *(entity.type for entity in (*entities, *truth))])
    fonts = load_fonts()
    marks = _marks(entities, page_number, scale, colours)
    shown = _shaded(shown, marks)
    _outline_truth(shown, _marks(truth, page_number, scale, colours))
    _label(shown, marks, fonts.small)
    seen = [
        entity for entity in entities if any(region.page_number == page_number for region in entity.bounding_regions)
    ]
    return _beside(shown, _panel(seen, shown.height, colours, fonts, dashed=len(truth)))


def _marks(entities: Sequence[Entity], page_number: int, scale: float, colours: Mapping[str, Colour]) -> list[_Mark]:
    return [
        _Mark(entity, _bounds(region.polygon, scale), colours[entity.type])
        for entity in entities
        for region in entity.bounding_regions
        if region.page_number == page_number
    ]


def _bounds(polygon: Sequence[float], scale: float) -> Rectangle:
    across, down = polygon[0::2], polygon[1::2]
    return min(across) * scale, min(down) * scale, max(across) * scale, max(down) * scale


def _shaded(shown: Image.Image, marks: Sequence[_Mark]) -> Image.Image:
    tint = Image.new("RGBA", shown.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(tint)
    for mark in marks:
        pen.rectangle(grown(mark.place, 2), fill=(*mark.colour, 70), outline=(*mark.colour, 255), width=2)
    return Image.alpha_composite(shown.convert("RGBA"), tint).convert("RGB")


def _outline_truth(shown: Image.Image, marks: Sequence[_Mark]) -> None:
    pen = ImageDraw.Draw(shown)
    for mark in marks:
        x0, y0, x1, y1 = grown(mark.place, 6)
        for start in np.arange(x0, x1, 12):
            pen.line([(start, y0), (min(start + 7, x1), y0)], fill=mark.colour, width=3)
            pen.line([(start, y1), (min(start + 7, x1), y1)], fill=mark.colour, width=3)
        for start in np.arange(y0, y1, 12):
            pen.line([(x0, start), (x0, min(start + 7, y1))], fill=mark.colour, width=3)
            pen.line([(x1, start), (x1, min(start + 7, y1))], fill=mark.colour, width=3)


def _label(shown: Image.Image, marks: Sequence[_Mark], font: ImageFont.FreeTypeFont) -> None:
    """Write type and confidence beside the first region of each entity.

    Where that would hide other boxes the confidence stands alone, and where even that would, nothing: colour and panel tell.
    """
    pen = ImageDraw.Draw(shown)
    taken = [mark.place for mark in marks]
    first = {id(mark.entity): mark for mark in reversed(marks)}
    for mark in reversed(first.values()):
        for text in (f"{mark.entity.type} {mark.entity.confidence:.0%}", f"{mark.entity.confidence:.0%}"):
            size = (pen.textlength(text, font=font) + 8, font.size + 5.0)
            place = _free_place(mark.place, size, shown.size, taken)
            if sum(_overlap(place, other) for other in taken) > 0.1 * size[0] * size[1]:
                continue
            taken.append(place)
            pen.rounded_rectangle(place, radius=3, fill=mark.colour)
            pen.text((place[0] + 4, place[1] + size[1] / 2), text, font=font, fill=ink_on(mark.colour), anchor="lm")
            break


def _free_place(
    box: Rectangle, size: tuple[float, float], page: tuple[int, int], taken: Sequence[Rectangle]
) -> Rectangle:
    """The spot around `box` for a label of `size` that stays on the page and covers the least of what is taken."""
    wide, high = size
    x0, y0, x1, y1 = box
    spots = [
        (x0 - 2, y0 - high - 3),
        (x1 + 5, (y0 + y1 - high) / 2),
        (x0 - 2, y1 + 4),
        (x1 + 2 - wide, y0 - high - 3),
        (x0 - wide - 5, y0),
    ]
    inside = [(min(max(left, 0), page[0] - wide - 1), min(max(top, 0), page[1] - high - 1)) for left, top in spots]
    places = [(left, top, left + wide, top + high) for left, top in inside]
    return min(places, key=lambda place: sum(_overlap(place, other) for other in taken))


def _overlap(one: Rectangle, other: Rectangle) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)


_PANEL_WIDTH = 420
_MARGIN = 20
_INDENT = 26
_ROW = 28


def _panel(
    entities: Sequence[Entity], height: int, colours: Mapping[str, Colour], fonts: Fonts, *, dashed: int
) -> Image.Image:
    """The legend: each type in its colour, and below it what was found, with confidence, as far as the page is long."""
    types = sorted({entity.type for entity in entities})
    tall = max(height, (4 + 2 * len(types)) * _ROW + 2 * _MARGIN)
    panel = Image.new("RGB", (_PANEL_WIDTH, tall), _PANEL)
    pen = ImageDraw.Draw(panel)
    noun = "entity" if len(entities) == 1 else "entities"
    pen.text((_MARGIN, _MARGIN), f"{len(entities)} {noun} found", font=fonts.bold, fill=INK)
    if dashed:
        pen.text((_PANEL_WIDTH - _MARGIN, _MARGIN), "dashed: truth", font=fonts.plain, fill=FAINT, anchor="ra")
    room = (tall - 2 * _MARGIN) // _ROW - 2 - len(types)
    top = _MARGIN + 2 * _ROW
    for index, name in enumerate(types):
        _write_type(pen, top, name, colours[name], fonts.bold)
        found = [entity for entity in entities if entity.type == name]
        share = room // (len(types) - index)
        top += _ROW + _write_found(pen, top + _ROW, found, share, fonts) * _ROW
        room -= min(len(found), share)
    return panel


def _write_type(pen: ImageDraw.ImageDraw, top: int, name: str, colour: Colour, font: ImageFont.FreeTypeFont) -> None:
    pen.rounded_rectangle((_MARGIN, top + 2, _MARGIN + 16, top + 18), radius=3, fill=colour)
    pen.text((_MARGIN + _INDENT, top), cut(pen, name, font, _PANEL_WIDTH - 2 * _MARGIN - _INDENT), font=font, fill=INK)


def _write_found(pen: ImageDraw.ImageDraw, top: int, found: Sequence[Entity], room: int, fonts: Fonts) -> int:
    """Write up to `room` rows, the last of which counts those left out; returns the rows written."""
    shown = found if len(found) <= room else found[: room - 1]
    width = _PANEL_WIDTH - 2 * _MARGIN - _INDENT - 60
    for index, entity in enumerate(shown):
        height = top + index * _ROW
        pen.text(
            (_MARGIN + _INDENT, height),
            cut(pen, " ".join(entity.content.split()), fonts.plain, width),
            font=fonts.plain,
            fill=INK,
        )
        pen.text(
            (_PANEL_WIDTH - _MARGIN, height), f"{entity.confidence:.0%}", font=fonts.plain, fill=FAINT, anchor="ra"
        )
    if len(shown) == len(found):
        return len(shown)
    pen.text(
        (_MARGIN + _INDENT, top + len(shown) * _ROW),
        f"… and {len(found) - len(shown)} more",
        font=fonts.plain,
        fill=FAINT,
    )
    return room


def _beside(page: Image.Image, panel: Image.Image) -> Image.Image:
    both = Image.new("RGB", (page.width + panel.width, max(page.height, panel.height)), PAPER)
    both.paste(page, (0, 0))
    both.paste(panel, (page.width, 0))
    return both
