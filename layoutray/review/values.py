"""The values of a document under review: what the model has said, and what a person made of it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from pydantic import TypeAdapter

from layoutray.document.packets import PART, part_field

_MOST_ALTERNATIVES = 4
State = Literal["open", "confirmed", "rejected", "removed"]
Action = Literal["added", "changed", "confirmed", "reopened", "rejected", "removed", "restored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What another model has stated in place of a value that was answered.

    Attributes:
        by: name of that model.
        text: empty if it has stated no such value.
        page, words: where the text is first; None and empty if it stands nowhere.
    """

    by: str
    text: str
    page: int | None
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another possible value of a field, less probable than the predicted one. Attributes as in `Prediction`."""

    text: str
    page: int | None
    words: tuple[int, ...]
    polygons: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One value as the model has answered it. It never changes.

    Attributes:
        text: the words as they are printed; empty if the model has found none where another model has.
        value: the normal form; empty for an entity.
        confidence: 0..1.
        accepted: whether the confidence reaches the field's threshold, so that the value needs no look.
        drawn: whether it was drawn at random, accepted or not, to measure precision.
        sampled: whether it is drawn and accepted, so that it is shown nevertheless.
        page: number of its page; None for a value without a place.
        words: indices of its words on the page; empty if the answer does not name them.
        polygons: its regions on the page, each eight numbers in pixels.
        row: `RECORD/PAGE/NUMBER` of the record that it belongs to; empty for a value of the document.
        alternatives: other possible values of the field, the most probable first.
        guess: whether the model has answered no value of the field, and this is the most probable one. It needs no
            look, but questions ask about it.
        stated: what another model has stated instead; None if it agrees, or there is none.
    """

    name: str
    text: str = ""
    value: str = ""
    confidence: float = 0.0
    accepted: bool = False
    page: int | None = None
    words: tuple[int, ...] = ()
    polygons: tuple[tuple[float, ...], ...] = ()
    row: str = ""
    drawn: bool = False
    sampled: bool = False
    alternatives: tuple[Alternative, ...] = ()
    guess: bool = False
    stated: Stated | None = None

    @property
    def needs_look(self) -> bool:
        return self.sampled or not (self.accepted or self.guess)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value as it is now.

    Attributes:
        id: names it in its document, for ever.
        text: the value. It differs from the text of its words if a person has typed over what OCR misread.
        page, words, row: as in `Prediction`.
        state: `rejected`: a person has said that the value is wrong, and nobody has corrected it yet. `removed`: there
            is no such value; it is kept, so that it can be restored and what the model had said stays known.
    """

    id: str
    name: str
    text: str
    page: int | None
    words: tuple[int, ...]
    row: str = ""
    state: State = "open"


VALUE, PREDICTION = TypeAdapter(Value), TypeAdapter(Prediction)
"""They read what `dataclasses.asdict` gives, from JSON or from plain values; other keys are ignored."""


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a person has changed. `before` is None for an added one."""

    action: Action
    before: Value | None
    after: Value


def predicted_values(
    fields: Sequence[Mapping[str, Any]],
    entities: Sequence[Mapping[str, Any]],
    records: Iterable[Mapping[str, Any]],
    candidates: Iterable[Mapping[str, Any]] = (),
) -> tuple[Prediction, ...]:
    """The values of an answer in the structure of the public JSON: fields, or entities if there are none, and records.

    Args:
        entities: of all pages. They name the words of the fields.
        candidates: of all pages.
    """
    words_of = {_place(entity["type"], entity): tuple(entity["words"]) for entity in entities}
    values = [replace(_prediction(field), words=words_of.get(_place(field["name"], field), ())) for field in fields]
    in_records: set[tuple[Any, ...]] = set()
    for record in records:
        row = f"{record['name']}/{record['page_number']}/{record['row']}"
        for entity in record["fields"]:
            in_records.add(_place(entity["type"], entity))
            values.append(replace(_prediction(entity), row=row))
    if not any(not said.row for said in values):
        loose = [entity for entity in entities if _place(entity["type"], entity) not in in_records]
        values += [_prediction(entity) for entity in loose]
    names = {field["name"] for field in fields}
    return tuple(_with_alternatives(values, [*candidates, *(one for one in entities if one["type"] in names)]))


def _with_alternatives(values: Sequence[Prediction], possible: Iterable[Mapping[str, Any]]) -> Iterator[Prediction]:
    """The values with their alternatives, and the most probable value of each field that has none.

    Texts that differ in spaces and case only are the same. Models overestimate that a field has no value: its most
    probable value is right with about the square root of its probability (docs/results/review.md).
    """
    others: dict[str, dict[str, Prediction]] = defaultdict(dict)
    for one in sorted(possible, key=lambda one: -one["confidence"]):
        if one["bounding_regions"]:
            others[one["type"]].setdefault(_plain(one["content"]), _prediction(one))
    for value in values:
        others[value.name].pop(_plain(value.text), None)
    for value in values:
        yield replace(value, alternatives=_alternatives(others[value.name].values()))
    answered = {value.name for value in values}
    for first, *further in (own.values() for name, own in others.items() if name not in answered):
        confidence = math.sqrt(first.confidence)
        yield replace(first, guess=True, confidence=confidence, alternatives=_alternatives(further))


def _alternatives(others: Iterable[Prediction]) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(text=one.text, page=one.page, words=one.words, polygons=one.polygons)
        for one in islice(others, _MOST_ALTERNATIVES)
    )


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def packet_values(documents: Iterable[Mapping[str, Any]]) -> tuple[Prediction, ...]:
    """The documents of a packet, in the structure of the public JSON, as values such as `4-6 invoice`."""
    return tuple(
        Prediction(
            name=PART,
            text=part_field(one["kind"], "-".join(str(page) for page in dict.fromkeys((pages[0], pages[-1])))).value,
            confidence=one["confidence"],
            page=pages[0],
        )
        for one in documents
        for pages in (one["pages"],)
    )


def first_values(said: Sequence[Prediction]) -> tuple[Value, ...]:
    """The values before anyone has looked at them."""
    return tuple(
        Value(id=f"said-{number}", name=one.name, text=one.text, page=one.page, words=one.words, row=one.row)
        for number, one in enumerate(said)
    )


def changes(before: Iterable[Value], after: Iterable[Value]) -> list[Change]:
    """The values of `after` that differ, in their order."""
    known = {value.id: value for value in before}
    return [
        Change(_action(known.get(value.id), value), known.get(value.id), value)
        for value in after
        if known.get(value.id) != value
    ]


def doubt(said: Mapping[str, Prediction], values: Iterable[Value]) -> tuple[int, float]:
    """Number of values that need a look, and how many of these are expected to be wrong."""
    to_look = [
        1 - said[value.id].confidence if value.state == "open" else 1.0
        for value in values
        if value.id in said and (value.state == "rejected" or (value.state == "open" and said[value.id].needs_look))
    ]
    return len(to_look), math.fsum(to_look)


def _action(before: Value | None, after: Value) -> Action:
    if before is None:
        return "added"
    if before.state != after.state and "removed" in (before.state, after.state):
        return "removed" if after.state == "removed" else "restored"
    if after.state == "rejected":
        return "rejected"
    same = (before.name, before.text, before.page, before.words, before.row)
    if same != (after.name, after.text, after.page, after.words, after.row):
        return "changed"
    return "confirmed" if after.state == "confirmed" else "reopened"


def _prediction(answer: Mapping[str, Any]) -> Prediction:
    """What a field, an entity or a candidate says. Fields alone have a value, and do not name their words."""
    regions = answer["bounding_regions"]
    return Prediction(
        name=answer["name"] if "name" in answer else answer["type"],
        text=answer["content"],
        value=answer.get("value", ""),
        confidence=answer["confidence"],
        accepted=answer.get("accepted", False),
        page=regions[0]["page_number"] if regions else None,
        words=tuple(answer.get("words", ())),
        polygons=tuple(tuple(region["polygon"]) for region in regions),
    )


def _place(name: str, answer: Mapping[str, Any]) -> tuple[Any, ...]:
    """Where an entity or a field is. Fields are stored as 32-bit floats, so that tenths of pixels are compared."""
    regions = answer["bounding_regions"]
    return name, *(
        (region["page_number"], *(round(float(side), 1) for side in region["polygon"])) for region in regions
    )
