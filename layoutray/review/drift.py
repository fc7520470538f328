"""Whether documents have changed: since which one, what shows it, and which documents show it most.

Assumption: documents are exchangeable, so that any order of them would be as likely. Those of one supplier that come
together are not: a batch that is unlike all documents before it is a change.
"""

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from sqlalchemy import RowMapping

from layoutray.document.signals import UPWARD, Observed, Reference
from layoutray.metrics.drift import FALSE_ALARM_EVERY, DriftTest
from layoutray.review.documents import AnsweredDocument
from layoutray.review.promise import AnsweredBy
from layoutray.review.store import ReviewStore

FIRST = 100
"""The documents of a sequence that are its reference, unless another one is given."""
_SHOWN = 20
"""Documents that show a change most."""
_UNLIKE = 0.1
"""The p-value up to which a signal of a document is named."""


class DriftMonitor:
    """Watches a sequence of answered documents.

    Args:
        reference: documents as they should be; None takes the first of the sequence.
    """

    def __init__(self, reference: Reference | None) -> None:
        self.reference = reference
        self._first: list[Observed] = []
        self._recent: list[frozenset[int]] = []
        self.test = DriftTest(reference.samples if reference else {}, UPWARD)

    def add(self, document: Observed) -> tuple[Mapping[str, float], Mapping[str, float]] | None:
        """Add the next document. Returns its signals and their p-values; None of a document of the reference."""
        if self.reference:
            signals = self.reference.signals(document, self._recent)
            self._recent = [*self._recent, self.reference.unseen(document)][-self.reference.recent :]
            return signals, self.test.add(signals)
        self._first.append(document)
        if len(self._first) == FIRST:
            self.reference = Reference.of(self._first)
            self.test = DriftTest(self.reference.samples, UPWARD)
        return None

    def to_json(self) -> dict[str, Any]:
        """Plain data for `restore`: what it knows of documents after those of the reference."""
        return {"recent": [*map(sorted, self._recent)], **self.test.to_json()}

    def restore(self, plain: Mapping[str, Any]) -> None:
        """Go on as the monitor of the same reference that `to_json` gave."""
        self._recent = [*map(frozenset, plain["recent"])]
        self.test.restore(plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A document of a sequence.

    Attributes:
        time: when it was answered, in seconds since 1970; None if nothing says it.
        number: in the review file; 0 in no such file.
        signals: those that show a change, of a document that is unlike others in them.
    """

    doc_id: str
    source: str
    time: float | None = None
    number: int = 0
    signals: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSignal:
    """A signal that shows a change: its evidence, and its median in the reference and since the change."""

    signal: str
    evidence: float
    before: float
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What a sequence of documents shows.

    Attributes:
        documents: after those of the reference.
        evidence: at the last document: chance alone gives as much once in this many documents.
        alarm: the document at which the evidence reached the threshold; None if it never did.
        since: the first document of the change, as estimated at the alarm.
        signals: those that show the change, the strongest first.
        shown_by: the documents since then that show it most.
    """

    documents: int
    evidence: float
    alarm: Place | None = None
    since: Place | None = None
    signals: Sequence[ChangedSignal] = ()
    shown_by: Sequence[Place] = ()


class Watch:
    """A sequence of documents, the earliest first, and what it shows; `reference` as of `DriftMonitor`."""

    def __init__(self, reference: Reference | None) -> None:
        self._monitor = DriftMonitor(reference)
        self._watched: list[tuple[Place, Mapping[str, float], Mapping[str, float]]] = []
        self._highest: dict[str, float] = {}
        self._alarm: Place | None = None
        self._begun = 0

    def add(self, place: Place, document: Observed) -> None:
        """Add the next document."""
        if (seen := self._monitor.add(document)) is None:
            return
        self._watched.append((place, *seen))
        test = self._monitor.test
        if self._alarm is None and test.evidence >= FALSE_ALARM_EVERY:
            self._alarm, self._begun = place, test.begun
        self._highest = {name: max(one, self._highest.get(name, 0.0)) for name, one in test.evidence_of().items()}

    def found(self) -> Drift:
        """What the documents show of a change since the reference."""
        count, evidence = len(self._watched), self._monitor.test.evidence
        if self._alarm is None or self._monitor.reference is None:
            return Drift(documents=count, evidence=evidence)
        since, usual, highest = self._watched[self._begun :], self._monitor.reference.samples, self._highest
        names = sorted((one for one in highest if highest[one] >= FALSE_ALARM_EVERY), key=lambda one: -highest[one])
        unlike = sorted(since, key=lambda one: sum(math.log(one[2].get(name, 1.0)) for name in names))
        return Drift(
            documents=count,
            evidence=evidence,
            alarm=self._alarm,
            since=since[0][0],
            signals=[
                ChangedSignal(
                    signal=name,
                    evidence=highest[name],
                    before=median(usual[name]),
                    since=median(signals[name] for _, signals, _ in since if name in signals),
                )
                for name in names
            ],
            shown_by=[
                replace(place, signals={name: signals[name] for name in names if p_values.get(name, 1.0) <= _UNLIKE})
                for place, signals, p_values in unlike[:_SHOWN]
            ],
        )


def drift(documents: Iterable[tuple[Place, Observed]], reference: Reference | None) -> Drift:
    """What a sequence of documents, the earliest first, shows of a change since `reference`, or since its beginning."""
    watch = Watch(reference)
    for place, observed in documents:
        watch.add(place, observed)
    return watch.found()


def of_answers(documents: Iterable[AnsweredDocument]) -> list[tuple[Place, Observed]]:
    """Documents of a folder of answers, by the names of their files: nothing says when they were answered."""
    observed = (
        (
            Place(doc_id=one.doc_id, source=one.source),
            Observed.of(one.pages, [(said.name, said.confidence) for said in one.said]),
        )
        for one in documents
    )
    return sorted(observed, key=lambda one: one[0].source)


class ReviewDrift:
    """What the documents of a review file show. Each of them is read once.

    Args:
        answered_by: gives the model that answers; without a reference, its first documents are one.
    """

    def __init__(self, store: ReviewStore, answered_by: Callable[[], AnsweredBy | None]) -> None:
        self._store = store
        self._answered_by = answered_by
        self._turn = threading.Lock()
        self._watches: dict[str | None, tuple[Sequence[RowMapping], int, Watch]] = {}
        self.shown: dict[str | None, list[int]] = {}
        """Numbers of the documents that showed a change when an owner's documents were looked at last."""

    def found(self, owner: str | None) -> Drift:
        """What the documents of an owner show; those of all if it is None."""
        with self._turn:
            version = self._store.database.rows(_NEWEST)
            known, last, watch = self._watches.get(owner, ((), 0, None))
            if watch is None or known != version:
                model = self._answered_by()
                last = 0
                watch = Watch(Reference.from_json(model.reference) if model and model.reference else None)
            for place, observed in of_review(self._store, owner, last):
                watch.add(place, observed)
                last = place.number
            self._watches[owner] = version, last, watch
            found = watch.found()
            self.shown[owner] = [one.number for one in found.shown_by]
        return found


def of_review(store: ReviewStore, owner: str | None = None, after: int = 0) -> Iterator[tuple[Place, Observed]]:
    """The documents that the newest version has answered, in the order of time.

    Args:
        owner: whose documents; None for those of all.
        after: the number of the last document that is left out.
    """
    for row in store.database.rows(_OF_NEWEST, owner, owner, after):
        said = store.database.rows("SELECT name, confidence FROM said WHERE document = ?", row["number"])
        found = (store.page(row["number"], page) for page, _, _ in store.pages(row["number"]))
        observed = Observed.of([page for page in found if page], [(one["name"], one["confidence"]) for one in said])
        place = Place(doc_id=row["doc_id"], source=row["source"], time=row["added"], number=row["number"])
        yield place, observed


_NEWEST = "SELECT model_id, model_version FROM documents ORDER BY number DESC LIMIT 1"
_OF_NEWEST = f"""
    SELECT number, doc_id, source, added FROM documents WHERE (model_id, model_version) = ({_NEWEST})
    AND (? IS NULL OR owner = ?) AND number > ? ORDER BY number
"""
