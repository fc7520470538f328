"""Whether documents have changed: since which one, what shows it, and which documents show it most.

Assumption: documents are exchangeable, so that any order of them would be as likely. Those of one supplier that come
together are not: a batch that is unlike all documents before it is a change.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from layoutray.document.signals import UPWARD, Observed, Reference
from layoutray.metrics.drift import FALSE_ALARM_EVERY, DriftTest
from layoutray.review.documents import AnsweredDocument
from layoutray.review.store import ReviewStore

FIRST = 100
"""The documents of a sequence that are its reference, unless another one is given."""
_SHOWN = 20
"""Documents that show a change most."""


class DriftMonitor:
    """Watches a sequence of answered documents.

    Args:
        reference: documents as they should be; None takes the first of the sequence.
    """

    def __init__(self, reference: Reference | None) -> None:
        self.reference = reference
        self._first: list[Observed] = []
        self.test = DriftTest(reference.samples if reference else {}, UPWARD)

    def add(self, document: Observed) -> dict[str, float]:
        """Add the next document. Returns its p-value of each signal; none of a document of the reference."""
        if self.reference:
            return self.test.add(self.reference.signals(document))
        self._first.append(document)
        if len(self._first) == FIRST:
            self.reference = Reference.of(self._first)
            self.test = DriftTest(self.reference.samples, UPWARD)
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A document of a sequence. `time`: when it was answered, in seconds since 1970; None if nothing says it."""

    doc_id: str
    source: str
    time: float | None


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


def drift(documents: Iterable[tuple[Place, Observed]], reference: Reference | None) -> Drift:
    """What a sequence of documents, the earliest first, shows of a change since `reference`, or since its beginning."""
    monitor = DriftMonitor(reference)
    watched: list[tuple[Place, Observed, Mapping[str, float]]] = []
    highest: dict[str, float] = {}
    alarm, begun = None, 0
    for place, observed in documents:
        if not (p_values := monitor.add(observed)):
            continue
        watched.append((place, observed, p_values))
        if alarm is None and monitor.test.evidence >= FALSE_ALARM_EVERY:
            alarm, begun = place, monitor.test.begun
        highest = {name: max(one, highest.get(name, 0.0)) for name, one in monitor.test.evidence_of().items()}
    if alarm is None or monitor.reference is None:
        return Drift(documents=len(watched), evidence=monitor.test.evidence)
    since, usual = watched[begun:], monitor.reference
    changed = sorted((name for name in highest if highest[name] >= FALSE_ALARM_EVERY), key=lambda name: -highest[name])
    signals = [usual.signals(observed) for _, observed, _ in since]
    unlike = sorted(since, key=lambda one: sum(math.log(one[2].get(name, 1.0)) for name in changed))
    return Drift(
        documents=len(watched),
        evidence=monitor.test.evidence,
        alarm=alarm,
        since=since[0][0],
        signals=[
            ChangedSignal(
                signal=name,
                evidence=highest[name],
                before=median(usual.samples[name]),
                since=median(one[name] for one in signals if name in one),
            )
            for name in changed
        ],
        shown_by=[place for place, _, _ in unlike[:_SHOWN]],
    )


def of_answers(documents: Iterable[AnsweredDocument]) -> list[tuple[Place, Observed]]:
    """Documents of a folder of answers, by the names of their files: nothing says when they were answered."""
    observed = (
        (
            Place(doc_id=one.doc_id, source=one.source, time=None),
            Observed.of(one.pages, [(said.name, said.confidence) for said in one.said]),
        )
        for one in documents
    )
    return sorted(observed, key=lambda one: one[0].source)


def of_review(store: ReviewStore) -> Iterator[tuple[Place, Observed]]:
    """The documents that the newest version has answered, in the order of time."""
    for row in store.database.rows(_OF_NEWEST):
        said = store.database.rows("SELECT name, confidence FROM said WHERE document = ?", row["number"])
        found = (store.page(row["number"], page) for page, _, _ in store.pages(row["number"]))
        observed = Observed.of([page for page in found if page], [(one["name"], one["confidence"]) for one in said])
        yield Place(doc_id=row["doc_id"], source=row["source"], time=row["added"]), observed


_OF_NEWEST = """
    SELECT number, doc_id, source, added FROM documents
    WHERE (model_id, model_version) = (SELECT model_id, model_version FROM documents ORDER BY number DESC LIMIT 1)
    ORDER BY number
"""
