"""What reviewed answers show about the answers that are accepted without a look, and what would show more.

A value that a person has looked at counts if it was drawn at random, or if the version that answered it accepted no
value of its field, so that people look at all of them. Of a version that accepts some values, people look at all others
but only at a sample of these: counting all would count too few accepted ones. So all values from a threshold on have
the same chance to count, whatever the threshold was when they were answered.

Thresholds are looked for in a fixed grid, from the strictest down to the first one that is not shown. In such a series
each test has the whole risk (see `layoutray.metrics.acceptance`): the strictest threshold that is wrong has to pass for
any wrong one to be taken. Its bound holds at every time, so that one may look after every answer. Each promise, of one
field or of all together, has the whole risk; that all of n hold at once has a risk of at most n times as much.

A document that several people or versions have reviewed is one document.

Assumptions: documents are independent and stay alike; whether a person looks at a drawn value does not depend on
whether it is right; what people say is right.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutray.metrics import promise
from layoutray.metrics.acceptance import Goal
from layoutray.review.queue import RIGHT, SAID, Filter
from layoutray.review.store import ReviewStore

Thresholds = Mapping[str, float | None]
"""The confidence from which answers of a field are accepted; None accepts none."""


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """A model, by the names and versions that documents state.

    Attributes:
        versions: thresholds of versions with the same confidences, the present one last.
        reference: the documents on which it was measured, as `Reference.to_json` gives them; None if unknown.
    """

    models: Sequence[str]
    versions: Mapping[str, Thresholds]
    reference: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What is promised of one field, or of all together.

    Attributes:
        field: empty for all together.
        accept_from: of a field, the present threshold.
        documents: with accepted answers that were reviewed and count.
        shown: share of right answers among the accepted ones that these show; 0 if none is accepted.
        lowered: a lower threshold that is shown; None if none is.
        needed: documents with right answers only that would show the goal or, once it is shown, `next_from`.
        next_from: the next lower threshold; None if the goal is not shown, or there is no lower one.
    """

    field: str
    accept_from: float | None
    documents: int
    shown: float
    lowered: float | None = None
    needed: int
    next_from: float | None = None

    def text(self, goal: Goal) -> str:
        """The promise in words."""
        shown = f"at least {math.floor(1000 * self.shown) / 10:g} % of the accepted answers are right"
        if not self.documents and self.accept_from is None:
            shown = "no answer is accepted yet"
        reviewed = f"{self.documents} reviewed documents with accepted answers"
        told = f"{self.field or 'all fields'}: {shown} (risk {goal.risk:g}, {reviewed})"
        if self.lowered is not None:
            return f"{told}; shown from confidence {self.lowered:g} on, which `layoutray promise --out` accepts"
        # Of a field with a threshold, only those that were drawn count.
        more = f"{told}; {self.needed} more right answers {'' if self.accept_from is None else 'of the sample '}needed"
        if self.next_from is not None:
            return f"{more} to accept from confidence {self.next_from:g} on"
        return f"{more} for {100 * goal.precision:g} %" if self.needed else told


def promises(store: ReviewStore, owner: str | None, model: AnsweredBy, goal: Goal) -> list[Promise]:
    """The promise of each field, and of all together."""
    present: Thresholds = [*model.versions.values()][-1]
    rows = _reviewed(store, owner, model)
    made = [of_field(name, [row for row in rows if row[1] == name], from_, goal) for name, from_ in present.items()]
    accepted = [row for row in rows if (from_ := present.get(row[1])) is not None and row[2] >= from_]
    right = _shares(accepted, 0.0)
    needed = promise.more_needed(right, goal.precision, goal.risk)
    shown = promise.lower_bound(right, goal.risk)
    return [*made, Promise(field="", accept_from=None, documents=len(right), shown=shown, needed=needed)]


Reviewed = tuple[str, str, float, bool]
"""Id of the document, field, confidence, and whether the value is right."""


def of_field(name: str, rows: Sequence[Reviewed], accept_from: float | None, goal: Goal) -> Promise:
    """See `Promise`. Errors double from one step of the grid to the next; the first step has the confidence wanted."""
    steps = [round(1 - (1 - goal.precision) * 2**step, 9) for step in range(64)]
    steps = [*(step for step in steps if step > 0), 0.0]
    tests = [promise.is_shown(_shares(rows, step), goal.precision, goal.risk) for step in steps]
    series = tests.index(False) if False in tests else len(tests)  # the number of steps that are shown
    lowered = steps[series - 1] if series and (accept_from is None or steps[series - 1] < accept_from) else None
    right = _shares(rows, 2.0 if accept_from is None else accept_from)
    shown = promise.lower_bound(right, goal.risk)
    wanted, next_from = [right], None
    if accept_from is None or shown >= goal.precision:
        from_ = min(one for one in (1.0, accept_from, lowered) if one is not None)
        next_from = next((step for step in steps[series:] if step < from_), None)
        wanted = [_shares(rows, step) for step in steps[series:] if next_from is not None and step >= next_from]
    return Promise(
        field=name,
        accept_from=accept_from,
        documents=len(right),
        shown=shown,
        lowered=lowered,
        needed=max((promise.more_needed(one, goal.precision, goal.risk) for one in wanted), default=0),
        next_from=next_from,
    )


def _shares(rows: Sequence[Reviewed], accept_from: float) -> NDArray[np.float64]:
    """Of each document, the share of right ones of its values with at least this confidence."""
    of: dict[str, list[bool]] = defaultdict(list)
    for document, _, confidence, right in rows:
        if confidence >= accept_from:
            of[document].append(right)
    return np.array([sum(values) / len(values) for values in of.values()])


def _reviewed(store: ReviewStore, owner: str | None, model: AnsweredBy) -> list[Reviewed]:
    """The values of fields that people have looked at, and that count."""
    condition, values = Filter(owner=owner).condition()
    models, versions = (", ".join("?" * len(names)) for names in (model.models, model.versions))
    statement = _REVIEWED.format(condition=condition, models=models, versions=versions)
    rows = store.database.rows(statement, *values, *model.models, *model.versions)
    return [
        (row["doc_id"], row["name"], row["confidence"], bool(row["correct"]))
        for row in rows
        if row["drawn"] or model.versions[row["model_version"]].get(row["name"]) is None
    ]


_REVIEWED = f"""
    SELECT doc_id, said.name, said.confidence, model_version, {RIGHT} AS correct,
        json_extract(said.content, '$.drawn') AS drawn
    FROM {SAID}
    WHERE {{condition}} AND model_id IN ({{models}}) AND model_version IN ({{versions}}) AND correct IS NOT NULL
        AND json_extract(said.content, '$.row') = '' AND json_extract(said.content, '$.value') != ''
"""


def newest(store: ReviewStore) -> AnsweredBy | None:
    """The version that answered the last document, with the thresholds that its answers show; None without any."""
    last = store.database.rows("SELECT model_id, model_version FROM documents ORDER BY number DESC LIMIT 1")
    if not last:
        return None
    model, version = last[0]["model_id"], last[0]["model_version"]
    found = store.database.rows(_ACCEPTED_FROM, model, version)
    return AnsweredBy((model,), {version: {row["name"]: row["accept_from"] for row in found}})


_ACCEPTED_FROM = """
    SELECT name, min(CASE WHEN json_extract(said.content, '$.accepted') THEN confidence END) AS accept_from
    FROM said JOIN documents ON documents.number = said.document
    WHERE model_id = ? AND model_version = ?
        AND json_extract(said.content, '$.row') = '' AND json_extract(said.content, '$.value') != ''
    GROUP BY name ORDER BY name
"""
