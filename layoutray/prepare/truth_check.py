"""Check the labels of a data set before they are trained on: how many are found where, and which look most wrong.

The values of documents are searched on their pages, as `encode` does; tags of words are taken as they are.
docs/fields.md says which labels are suspicious.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from layoutray.document import SUMMARY, Box, Document, Page
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.packets import PART
from layoutray.document.tags import are_entity_tags, spans
from layoutray.errors import DocumentError
from layoutray.prepare.infer_fields import type_of
from layoutray.prepare.tag_fields import find_value
from layoutray.prepare.whole_documents import document_groups, has_id
from layoutray.report import png, truth_sheet
from layoutray.report.page_picture import page_picture
from layoutray.report.truth_sheet import Crop
from layoutray.store import sources
from layoutray.store.data_set import TRUTH_LIST, TRUTH_SHEET, DataSet

_SHOWN = 5
_PICTURES = 12
"""Labels of which the picture is read."""
_FEWEST = 5
"""Values of a field from which most of them say something about the others."""
_SHARE_OF_TYPE = 0.8
_FAR = 3.0
"""Spreads from the middle of a field's places from which a label is far from them."""
_SMALLEST_SPREAD = 0.02
"""Share of the page: values on one line are at the same place."""
_ONE_PLACE = 0.5
"""Share of the larger of two boxes that both cover if they are one place."""
_INK = 0.01
"""Least share of pixels of ink below a text."""


@dataclass(frozen=True, slots=True)
class Place:
    """A box on a page, which is here without its words."""

    page: Page
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A value of a document, and where it stands.

    Attributes:
        places: those of its occurrences, the likeliest one first; none if the value was not found.
        distance: of the likeliest place from the usual one of its field, in spreads.
        reasons: what is suspicious about it.
    """

    doc_id: str
    source: str
    name: str
    value: str
    places: Sequence[Place]
    distance: float = 0.0
    reasons: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons) or "no sign of an error"


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthCheck:
    """The labels of some documents.

    Attributes:
        documents: number of the documents.
        found: labels that stand on a page, the most suspicious first.
        not_found: values that stand nowhere.
        has_sheet: whether there is a picture of the most suspicious labels.
    """

    documents: int
    found: Sequence[Label]
    not_found: Sequence[Label]
    has_sheet: bool

    @property
    def suspicious(self) -> Sequence[Label]:
        return self.found[:_SHOWN]

    def counts(self) -> dict[str, Any]:
        """Numbers for the manifest; `pages`: labels by the number of their page."""
        numbers = Counter(label.places[0].page.number for label in self.found)
        pages = {str(number): count for number, count in sorted(numbers.items())}
        counts = {"documents": self.documents, "found": len(self.found), "not_found": len(self.not_found)}
        return counts | {"pages": pages}


def check_truth(data_set: DataSet, doc_ids: Sequence[str]) -> TruthCheck | None:
    """Check the labels of some documents. Writes `truth.json` and, if pages have pictures, `truth.png`.

    Returns:
        None without any label: regions and summaries are none.
    """
    labels = list(_labels(data_set, doc_ids))
    if not labels:
        return None
    ranked = sorted(_judged([label for label in labels if label.places]), key=_suspicion)
    seen = sorted(map(_with_ink, ranked[:_PICTURES]), key=lambda pair: _suspicion(pair[0]))
    crops = [crop for _, crop in seen[:_SHOWN] if crop]
    check = TruthCheck(
        documents=len(doc_ids),
        found=[*(label for label, _ in seen), *ranked[_PICTURES:]],
        not_found=[label for label in labels if not label.places],
        has_sheet=bool(crops),
    )
    data_set.write_private(json.dumps(_listed(check), indent=2, ensure_ascii=False).encode(), TRUTH_LIST)
    if crops:
        data_set.write_private(png.png(truth_sheet.draw(crops)), TRUTH_SHEET)
    return check


def _suspicion(label: Label) -> tuple[int, float]:
    """Sort key: the most suspicious first."""
    return -len(label.reasons), -label.distance


def _labels(data_set: DataSet, doc_ids: Sequence[str]) -> Iterator[Label]:
    values: dict[str, list[str]] = defaultdict(list)
    for document in data_set.read_documents(has_id(doc_ids)):
        for one in document.fields:
            values[one.name].append(one.value)
    types = {name: _usual_type(of_field) for name, of_field in values.items()}
    for group in document_groups([data_set], doc_ids):
        for document, pages in group:
            tagged = [label for page in pages for label in _tagged(page)]
            yield from tagged
            yield from _stated(document, pages, types, {label.name for label in tagged} | {SUMMARY, PART})


def _tagged(page: Page) -> Iterator[Label]:
    tags = [word.tag for word in page.words]
    bare = replace(page, words=())
    for kind, start, end in spans(tags) if are_entity_tags(tags) else ():
        words = page.words[start:end]
        place = Place(bare, Box.around(word.box for word in words))
        text = " ".join(word.text for word in words)
        yield Label(doc_id=page.doc_id, source=page.source, name=kind, value=text, places=(place,))


def _stated(
    document: Document, pages: Sequence[Page], types: Mapping[str, FieldType], without: set[str]
) -> Iterator[Label]:
    """The values of the document, without some fields. A value that is none of its type is searched as a text."""
    for one in dict.fromkeys(document.fields):
        if one.name in without:
            continue
        kind = types[one.name] if normal_form(one.value, types[one.name]) else FieldType()
        places = [
            Place(replace(page, words=()), Box.around(word.box for word in page.words[slice(*span)]))
            for page, found in zip(pages, find_value(one, kind, pages), strict=True)
            for span in found
        ]
        yield Label(doc_id=document.doc_id, source=document.source, name=one.name, value=one.value, places=places)


def _usual_type(values: Sequence[str]) -> FieldType:
    """The type that most of the values have; text if there are few."""
    return FieldType(type=type_of(values, _SHARE_OF_TYPE) if len(values) >= _FEWEST else "text")  # pyright: ignore[reportArgumentType]


def _judged(labels: Sequence[Label]) -> list[Label]:
    """The labels with what is suspicious about them, as far as no picture shows it."""
    of_field: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        of_field[label.name].append(label)
    placed = [judged for of_one in of_field.values() for judged in _with_distances(of_one)]
    types = {name: _usual_type([label.value for label in of_one]) for name, of_one in of_field.items()}
    on_page: dict[tuple[str, int], list[Label]] = defaultdict(list)
    for label in placed:
        for number in {place.page.number for place in label.places}:
            on_page[label.doc_id, number].append(label)
    return [
        replace(
            label,
            reasons=tuple(_reasons(label, types[label.name], on_page[label.doc_id, label.places[0].page.number])),
        )
        for label in placed
    ]


def _with_distances(labels: Sequence[Label]) -> list[Label]:
    """The labels of one field with their likeliest places first, and the distances of these."""
    firsts = [_middle(label.places[0].box) for label in labels]
    middles = [median(side) for side in zip(*firsts, strict=True)]
    # 1.5 median deviations are about one standard deviation.
    spreads = [
        max(_SMALLEST_SPREAD, 1.5 * median(abs(one - middle) for one in side))
        for side, middle in zip(zip(*firsts, strict=True), middles, strict=True)
    ]

    def distance(place: Place) -> float:
        sides = zip(_middle(place.box), middles, spreads, strict=True)
        return max(abs(one - middle) / spread for one, middle, spread in sides)

    ordered = [sorted(label.places, key=distance) for label in labels]
    return [
        replace(label, places=places, distance=distance(places[0]))
        for label, places in zip(labels, ordered, strict=True)
    ]


def _middle(box: Box) -> tuple[float, float]:
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def _reasons(label: Label, kind: FieldType, on_page: Sequence[Label]) -> Iterator[str]:
    if label.distance > _FAR:
        yield f"{label.distance:.0f} spreads from the usual place of {label.name}"
    others = {
        other.name
        for other in on_page
        if other.name != label.name
        and all(any(_is_one_place(place, another) for another in other.places) for place in label.places)
    }
    if others:
        yield f"at the place of {', '.join(sorted(others))}"
    if normal_form(label.value, kind) is None:
        yield f"no {kind.type}, as most values of {label.name} are"


def _is_one_place(one: Place, other: Place) -> bool:
    larger = max(one.box.area, other.box.area)
    return one.page.number == other.page.number and one.box.overlap(other.box) > _ONE_PLACE * larger


def _with_ink(label: Label) -> tuple[Label, Crop | None]:
    """The label, also judged by the ink below it, and its picture; None if the page has none that can be read."""
    place = label.places[0]
    try:
        picture = page_picture(place.page)
    except DocumentError:
        return label, None
    box = place.box.to_pixels(*picture.size)
    if truth_sheet.ink_share(picture, box) < _INK:
        label = replace(label, reasons=(*label.reasons, "no ink below it"))
    title = f"{label.name}: {label.value}"
    return label, Crop(picture, box, (title, label.why, f"{sources.name(label.source)}, page {place.page.number}"))


def _listed(check: TruthCheck) -> dict[str, Any]:
    def row(label: Label) -> dict[str, Any]:
        row = {name: getattr(label, name) for name in ("doc_id", "source", "name", "value")}
        if not label.places:
            return row
        box = label.places[0].box
        place = {"page": label.places[0].page.number, "box": [box.x0, box.y0, box.x1, box.y1]}
        return row | place | {"reasons": label.reasons}

    suspicious = [label for label in check.found if label.reasons]
    return check.counts() | {"suspicious": [*map(row, suspicious)], "not_found": [*map(row, check.not_found)]}
