"""Which document is looked at next, and how far the review is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.metrics.acceptance import Proportion, proportion
from layoutray.review.store import DocumentState, Entry, ReviewStore, entry_of

_ORDER = "rank IS NULL, rank, doubt DESC, number"
CURRENT = """
    NOT EXISTS (
        SELECT 1 FROM documents AS other WHERE (other.owner, other.doc_id) = (documents.owner, documents.doc_id)
        AND (other.state = 'done', other.number) > (documents.state = 'done', documents.number)
    )
"""
"""Of a document that several versions have answered: the one that is finished, else the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which documents are listed.

    Attributes:
        owner: whose documents; None for those of all.
        state, model_version: of the document; empty for any.
        field: only documents in which the model has answered this field; empty for any.
        below: only documents with an answer (of `field`) whose confidence is lower; 0 for any.
    """

    owner: str | None = None
    state: DocumentState | str = ""
    model_version: str = ""
    field: str = ""
    below: float = 0.0

    def condition(self) -> tuple[str, list[Any]]:
        """The condition in SQL, with its values."""
        wanted = {column: value for column in ("state", "model_version") if (value := getattr(self, column))}
        wanted |= {} if self.owner is None else {"owner": self.owner}
        conditions, values = [f"{column} = ?" for column in wanted], [*wanted.values()]
        if self.field or self.below:
            conditions.append(_HAS_VALUE)
            values += [self.field, self.field, self.below or 2.0]
        return " AND ".join(conditions) or "TRUE", values


_HAS_VALUE = """
    EXISTS (SELECT 1 FROM said WHERE document = documents.number AND (? = '' OR name = ?) AND confidence < ?)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewProgress:
    """How far a review is.

    Attributes:
        states: documents by state, each counted once.
        looks: values that still need a look.
        names: fields and entities that occur, sorted.
        versions: versions of models that have answered, the newest last.
        sample: of the accepted values that people have looked at as a sample: those that were right.
        sample_left: values of the sample that nobody has looked at.
        corrections: values added, changed or removed since the newest version has answered its first document.
    """

    states: dict[str, int]
    looks: int
    names: tuple[str, ...]
    versions: tuple[str, ...]
    sample: Proportion
    sample_left: int
    corrections: int


def listed(
    store: ReviewStore, wanted: Filter, offset: int, limit: int, first: Sequence[int] = ()
) -> tuple[list[Entry], int]:
    """The documents of a filter from `offset` on, the first to look at first, and how many there are.

    Of a document that several versions have answered, the one that is finished is listed, else the latest, unless the
    filter names a version.

    Args:
        first: numbers of documents that come before all others.
    """
    condition, values = wanted.condition()
    condition += "" if wanted.model_version else f" AND {CURRENT}"
    marks = ", ".join("?" * len(first))
    statement = (
        f"SELECT * FROM documents WHERE {condition} ORDER BY number IN ({marks}) DESC, {_ORDER} LIMIT ? OFFSET ?"
    )
    rows = store.database.rows(statement, *values, *first, limit, offset)
    (count,) = store.database.rows(f"SELECT count(*) AS count FROM documents WHERE {condition}", *values)
    return [entry_of(row) for row in rows], count["count"]


def last_changes(store: ReviewStore, numbers: Sequence[int]) -> dict[int, tuple[float, str]]:
    """Time and reviewer of the last correction of documents, by their numbers, without those that have none."""
    marks = ", ".join("?" * len(numbers))
    last = f"SELECT max(number) FROM corrections WHERE document IN ({marks}) GROUP BY document"
    statement = f"SELECT document, time, reviewer FROM corrections WHERE number IN ({last})"
    return {row["document"]: (row["time"], row["reviewer"]) for row in store.database.rows(statement, *numbers)}


def record_names(store: ReviewStore, owner: str | None) -> dict[str, list[str]]:
    """Names of the values of each record that a model has answered, in the documents of an owner, or of all."""
    condition, values = Filter(owner=owner).condition()
    records: dict[str, list[str]] = {}
    for row in store.database.rows(_ROWS.format(condition=condition), *values):
        names = records.setdefault(row["place"].rsplit("/", 2)[0], [])
        if row["name"] not in names:
            names.append(row["name"])
    return records


_ROWS = """
    SELECT name, json_extract(content, '$.row') AS place FROM said
    WHERE document IN (SELECT number FROM documents WHERE {condition}) AND place != ''
    GROUP BY name, place ORDER BY min(rowid)
"""


def progress(store: ReviewStore, owner: str | None) -> ReviewProgress:
    """How far the review of an owner's documents is; of all if it is None."""
    condition, values = Filter(owner=owner).condition()
    chosen = f"(SELECT number FROM documents WHERE {condition})"
    rows = store.database.rows

    states = rows(
        f"SELECT state, count(*) AS count, sum(looks) AS looks FROM documents WHERE {condition} AND {CURRENT} "
        "GROUP BY state",
        *values,
    )
    names = rows(f"SELECT DISTINCT name FROM said WHERE document IN {chosen} ORDER BY name", *values)
    versions = rows(
        f"SELECT model_version, min(added) AS first FROM documents WHERE {condition} GROUP BY model_version "
        "ORDER BY first",
        *values,
    )
    since = versions[-1]["first"] if versions else 0.0
    (corrections,) = rows(
        f"SELECT count(*) AS count FROM corrections WHERE document IN {chosen} AND time >= ? "
        "AND action IN ('added', 'changed', 'removed')",
        *values,
        since,
    )
    (sample,) = rows(
        f"SELECT count(*) AS drawn, count({RIGHT}) AS looked, coalesce(sum({RIGHT}), 0) AS correct FROM {SAID} "
        f"WHERE said.sampled AND {condition}",
        *values,
    )
    return ReviewProgress(
        states={row["state"]: row["count"] for row in states},
        looks=sum(row["looks"] for row in states),
        names=tuple(row["name"] for row in names),
        versions=tuple(row["model_version"] for row in versions),
        sample=proportion(sample["correct"], sample["looked"]),
        sample_left=sample["drawn"] - sample["looked"],
        corrections=corrections["count"],
    )


SAID = """
    said JOIN current ON current.document = said.document AND current.id = said.id
    JOIN documents ON documents.number = said.document
"""
"""What models have said about values, beside the values as they are now."""
RIGHT = """
    CASE WHEN json_extract(current.content, '$.state') IN ('rejected', 'removed')
        OR (json_extract(current.content, '$.name'), json_extract(current.content, '$.text'))
            != (said.name, json_extract(said.content, '$.text')) THEN 0
    WHEN json_extract(current.content, '$.state') != 'open' THEN 1 END
"""
"""Whether what was said is right; NULL if nobody has looked at it."""
