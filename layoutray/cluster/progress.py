"""Progress of a job on the cluster."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import ray.data


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of one stage of a job.

    Attributes:
        stage: `open` (documents) or `recognise` (pages) of an ingest, `encode` (pages) or `merge` (files) of an
            encode, `answer` (pages) or `write` (documents).
        done: number processed by this run.
        skipped: number processed by earlier runs.
        failures: failures of this run, by reason code.
    """

    stage: str
    done: int
    total: int
    skipped: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])


def ignore_progress(progress: Progress) -> None:
    """A listener that does nothing."""


def watch(results: ray.data.Dataset, start: Progress, progress: Callable[[Progress], None]) -> None:
    """Run `results` to its end, calling `progress` after each row. Column `rows` has what a row adds to `done`."""
    progress(start)
    done = start.done
    for row in results.iter_rows():
        done += int(row["rows"])
        progress(replace(start, done=done))
