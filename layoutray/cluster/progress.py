"""How far a job on the cluster is."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import ray.data


@dataclass(frozen=True, slots=True)
class Progress:
    """Attributes:
    stage: `open` (documents) or `recognise` (pages) of an ingest, `encode`, `answer` (pages) or `write` (documents).
    done: in this run.
    skipped: done by earlier runs.
    failures: by reason code, in this run.
    """

    stage: str
    done: int
    total: int
    skipped: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])


def ignore_progress(progress: Progress) -> None:
    """Takes note of progress for nobody."""


def follow(
    receipts: ray.data.Dataset,
    start: Progress,
    counted: Callable[[Mapping[str, Any]], int],
    progress: Callable[[Progress], None],
) -> list[dict[str, Any]]:
    """All rows of `receipts`; `progress` hears of each when its task is done.

    Args:
        counted: of what `start` counts, how much a row is the receipt of.
    """
    progress(start)
    rows: list[dict[str, Any]] = []
    done = start.done
    for row in receipts.iter_rows():
        rows.append(row)
        done += counted(row)
        progress(replace(start, done=done))
    return rows
