"""What the review page sends and gets, as JSON."""

from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

from layoutray.review.store import Correction, Entry, Review
from layoutray.review.values import State, Value

_Text = Annotated[str, Field(max_length=10_000)]
_Id = Annotated[str, Field(min_length=1, max_length=100)]
MOST = 2**31 - 1
"""Of numbers that are stored."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SignIn(_Body):
    """Who comes to the page."""

    key: Annotated[str, Field(max_length=1000)] = ""
    reviewer: Annotated[str, Field(max_length=1000)] = ""


class QueueQuery(_Body):
    """Which documents of the queue are shown; see `layoutray.review.queue.Filter`."""

    state: str = ""
    field: str = ""
    model_version: str = Field(default="", alias="version")
    below: Annotated[float, Field(ge=0, le=1)] = 0.0
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class QuestionQuery(_Body):
    """What a person was asked about already: `NUMBER/ID` of values."""

    without: Annotated[list[Annotated[str, Field(pattern=r"^\d{1,10}/.{1,100}$")]], Field(max_length=300)] = []


class ValueBody(_Body):
    """A value; see `layoutray.review.values.Value`."""

    id: _Id
    name: Annotated[str, Field(min_length=1, max_length=200)]
    text: _Text
    page: Annotated[int, Field(ge=1, le=MOST)] | None
    words: Annotated[tuple[Annotated[int, Field(ge=0, le=MOST)], ...], Field(max_length=10_000)]
    row: Annotated[str, Field(max_length=300)]
    state: State

    def value(self) -> Value:
        return Value(**self.model_dump())


class Save(_Body):
    """The values of a document, made from its revision."""

    revision: Annotated[int, Field(ge=0, le=MOST)]
    values: Annotated[list[ValueBody], Field(max_length=10_000)]
    done: bool


def shown_entry(entry: Entry) -> dict[str, Any]:
    """A document in a list."""
    file = entry.source.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return {
        "number": entry.number,
        "name": unquote(file) or entry.doc_id[:16],
        "state": entry.state,
        "looks": entry.looks,
        "doubt": round(entry.doubt, 2),
        "model": f"{entry.model_id} {entry.model_version}",
    }


def shown_review(review: Review) -> dict[str, Any]:
    """A document with its values, and what the model has said about each."""
    return shown_entry(review.entry) | {
        "doc_id": review.entry.doc_id,
        "revision": review.entry.revision,
        "said": {value_id: asdict(said) | {"needs_look": said.needs_look} for value_id, said in review.said.items()},
        "values": [asdict(value) for value in review.values],
    }


def shown_correction(correction: Correction) -> dict[str, Any]:
    """What a person did."""
    sides = {"before": correction.before, "after": correction.after}
    done = {name: getattr(correction, name) for name in ("time", "reviewer", "action", "name")}
    return done | {side: value and value.text for side, value in sides.items()}
