"""Draw found entities on their page: boxes in a colour for each type, labels with confidence, a list of all.

An outline joins the boxes of one record.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from layoutray.document.answers import Entity, Record
from layoutray.report.canvas import FAINT, INK, PAPER, Fonts, Rectangle, cut, grown, load_fonts, resized
from layoutray.report.palette import Colour, colours_of, ink_on

SHOWN_WIDTH = (900, 1600)
"""Pixels. Narrower pages are enlarged and wider pages reduced to this range: labels stay readable and files small."""

_PANEL: Colour = (246, 247, 249)
_DARKER_THAN_PAPER = 60
"""Grey levels below the page's median from which a pixel counts as text."""
_MAX_HIDDEN_BOXES = 0.1
_MAX_HIDDEN_TEXT = 0.015
"""Shares of a label's area that may lie on boxes, and on pixels of text. Text fills about a fifth of its line."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """One region of an entity in pixels of the shown page."""

    entity: Entity
    place: Rectangle
    colour: Colour


@dataclass(frozen=True, slots=True)
class _Label:
    text: str
    place: Rectangle
    hidden_text: float


class _TextPixels:
    """Counts the dark pixels of a page within rectangles."""

    def __init__(self, page: Image.Image) -> None:
        grey = np.asarray(page.convert("L")).astype(np.int16)
        dark = grey < np.median(grey) - _DARKER_THAN_PAPER
        self._sums = np.zeros((grey.shape[0] + 1, grey.shape[1] + 1), np.int64)
        self._sums[1:, 1:] = dark.cumsum(0).cumsum(1)

    def share(self, place: Rectangle) -> float:
        height, width = self._sums.shape
        x0, x1 = (min(max(round(x), 0), width - 1) for x in (place[0], place[2]))
        y0, y1 = (min(max(round(y), 0), height - 1) for y in (place[1], place[3]))
        dark = self._sums[y1, x1] - self._sums[y0, x1] - self._sums[y1, x0] + self._sums[y0, x0]
        return float(dark) / max((x1 - x0) * (y1 - y0), 1)


def draw(
    image: Image.Image,
    entities: Sequence[Entity],
    *,
    page_number: int = 1,
    truth: Sequence[Entity] = (),
    types: Iterable[str] = (),
    records: Sequence[Record] = (),
) -> Image.Image:
    """The page with `entities` in translucent boxes and a panel to its right.

    Args:
        image: the page; the entities' polygons are in its pixels.
        entities: found entities; only regions on page `page_number` are drawn.
        truth: expected entities, drawn as dashed outlines.
        types: all entity types of the model: pages with different types then have the same colours.
        records: records of found entities; each has an outline.
    """
    shown, scale = resized(image, SHOWN_WIDTH)
    text = _TextPixels(shown)
    colours = colours_of([*types, *(entity.type for entity in (*entities, *truth))])
    fonts = load_fonts()

    def marks_of(group: Sequence[Entity]) -> list[_Mark]:
        marks: list[_Mark] = []
        for entity in group:
            for region in entity.bounding_regions:
                if region.page_number == page_number:
                    across, down = region.polygon[0::2], region.polygon[1::2]
                    place = (min(across) * scale, min(down) * scale, max(across) * scale, max(down) * scale)
                    marks.append(_Mark(entity, place, colours[entity.type]))
        return marks

    marks = marks_of(entities)
    tint = Image.new("RGBA", shown.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(tint)
    for mark in marks:
        pen.rectangle(grown(mark.place, 2), fill=(*mark.colour, 70), outline=(*mark.colour, 255), width=2)
    shown = Image.alpha_composite(shown.convert("RGBA"), tint).convert("RGB")
    for record in records:
        _outline_record(shown, marks_of(record.fields))
    _outline_truth(shown, marks_of(truth))
    _draw_labels(shown, marks, text, fonts.small)
    on_page = [
        entity for entity in entities if any(region.page_number == page_number for region in entity.bounding_regions)
    ]
    panel = _panel(on_page, shown.height, colours, fonts, with_truth=bool(truth))
    both = Image.new("RGB", (shown.width + panel.width, max(shown.height, panel.height)), PAPER)
    both.paste(shown, (0, 0))
    both.paste(panel, (shown.width, 0))
    return both


def _outline_record(shown: Image.Image, marks: Sequence[_Mark]) -> None:
    """Draw the convex outline of all boxes: on a skewed page it is narrower than the rectangle around them."""
    corners: list[tuple[float, float]] = []
    for mark in marks:
        x0, y0, x1, y1 = grown(mark.place, 4)
        corners += [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    if corners:
        from scipy.spatial import ConvexHull  # takes 0.2 s to import

        outline = [corners[number] for number in ConvexHull(corners).vertices]
        ImageDraw.Draw(shown).line([*outline, outline[0], outline[1]], fill=INK, width=2, joint="curve")


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


def _draw_labels(shown: Image.Image, marks: Sequence[_Mark], text: _TextPixels, font: ImageFont.FreeTypeFont) -> None:
    """Write type and confidence beside the first region of each entity, where the label hides no box and little text.

    Where there is no such place, the label is the confidence alone; where even that hides a box, there is no label.
    """
    pen = ImageDraw.Draw(shown)
    taken = [mark.place for mark in marks]
    first = {id(mark.entity): mark for mark in reversed(marks)}
    for mark in reversed(first.values()):
        label = _best_label(mark, font, shown.size, taken, text)
        if label is None:
            continue
        x0, y0, _, y1 = label.place
        taken.append(label.place)
        pen.rounded_rectangle(label.place, radius=3, fill=mark.colour)
        pen.text((x0 + 4, (y0 + y1) / 2), label.text, font=font, fill=ink_on(mark.colour), anchor="lm")


def _best_label(
    mark: _Mark,
    font: ImageFont.FreeTypeFont,
    page: tuple[int, int],
    taken: Sequence[Rectangle],
    text: _TextPixels,
) -> _Label | None:
    """The long label if it hides little text, else the one that hides less; None if every label hides a box."""
    confidence = f"{mark.entity.confidence:.0%}"
    labels: list[_Label] = []
    for words in (f"{mark.entity.type} {confidence}", confidence):
        size = (font.getlength(words) + 8, font.size + 5.0)
        area = size[0] * size[1]
        places = _places(mark.place, size, page)
        hidden = {place: sum(_overlap(place, other) for other in taken) for place in places}
        place = min(hidden, key=lambda place: hidden[place] + area * text.share(place))
        if hidden[place] > _MAX_HIDDEN_BOXES * area:
            continue
        labels.append(_Label(words, place, text.share(place)))
        if labels[-1].hidden_text <= _MAX_HIDDEN_TEXT:
            return labels[-1]
    return min(labels, key=lambda label: label.hidden_text, default=None)


def _places(box: Rectangle, size: tuple[float, float], page: tuple[int, int]) -> list[Rectangle]:
    """Places around `box` for a label of `size` that stay on the page, the preferred one first."""
    width, height = size
    x0, y0, x1, y1 = box
    corners = [
        (x0 - 2, y0 - height - 3),
        (x1 + 5, (y0 + y1 - height) / 2),
        (x0 - 2, y1 + 4),
        (x1 + 2 - width, y0 - height - 3),
        (x1 + 2 - width, y1 + 4),
        (x0 - width - 5, (y0 + y1 - height) / 2),
    ]
    inside = [(min(max(left, 0), page[0] - width - 1), min(max(top, 0), page[1] - height - 1)) for left, top in corners]
    return [(left, top, left + width, top + height) for left, top in inside]


def _overlap(one: Rectangle, other: Rectangle) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)


_PANEL_WIDTH = 500
_MARGIN = 20
_INDENT = 26
_ROW = 28


def _panel(
    entities: Sequence[Entity], height: int, colours: Mapping[str, Colour], fonts: Fonts, *, with_truth: bool
) -> Image.Image:
    """The legend: each type in its colour, and below it the content and confidence of its entities, as space allows."""
    types = sorted({entity.type for entity in entities})
    tall = max(height, (4 + 2 * len(types)) * _ROW + 2 * _MARGIN)
    panel = Image.new("RGB", (_PANEL_WIDTH, tall), _PANEL)
    pen = ImageDraw.Draw(panel)
    noun = "entity" if len(entities) == 1 else "entities"
    pen.text((_MARGIN, _MARGIN), f"{len(entities)} {noun} found", font=fonts.bold, fill=INK)
    if with_truth:
        pen.text((_PANEL_WIDTH - _MARGIN, _MARGIN), "dashed: truth", font=fonts.plain, fill=FAINT, anchor="ra")
    room = (tall - 2 * _MARGIN) // _ROW - 2 - len(types)
    top = _MARGIN + 2 * _ROW
    for index, name in enumerate(types):
        pen.rounded_rectangle((_MARGIN, top + 2, _MARGIN + 16, top + 18), radius=3, fill=colours[name])
        title = cut(pen, name, fonts.bold, _PANEL_WIDTH - 2 * _MARGIN - _INDENT)
        pen.text((_MARGIN + _INDENT, top), title, font=fonts.bold, fill=INK)
        of_type = [entity for entity in entities if entity.type == name]
        share = room // (len(types) - index)
        top += _ROW + _write_entities(pen, top + _ROW, of_type, share, fonts) * _ROW
        room -= min(len(of_type), share)
    return panel


def _write_entities(pen: ImageDraw.ImageDraw, top: int, entities: Sequence[Entity], room: int, fonts: Fonts) -> int:
    """Write up to `room` rows and return their number; if there are more entities, the last row counts the rest."""
    shown = entities if len(entities) <= room else entities[: room - 1]
    left, right = _MARGIN + _INDENT, _PANEL_WIDTH - _MARGIN
    for index, entity in enumerate(shown):
        height = top + index * _ROW
        content = cut(pen, " ".join(entity.content.split()), fonts.plain, right - left - 60)
        pen.text((left, height), content, font=fonts.plain, fill=INK)
        pen.text((right, height), f"{entity.confidence:.0%}", font=fonts.plain, fill=FAINT, anchor="ra")
    if len(shown) == len(entities):
        return len(shown)
    more = f"… and {len(entities) - len(shown)} more"
    pen.text((left, top + len(shown) * _ROW), more, font=fonts.plain, fill=FAINT)
    return room
