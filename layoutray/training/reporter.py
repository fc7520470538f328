"""Reporters receive the progress of a training. The loop calls them on rank 0, and `saved` on every worker."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from layoutray.store import json_text, shards, sources

HISTORY = "history.jsonl"
"""File of `JsonLines` in a checkpoint folder."""


class Reporter(Protocol):
    """Receives the progress of a training. A class that derives from this one need not define all methods."""

    def start(self, step: int, steps: int) -> None:
        """Training starts or resumes at `step` of `steps`."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """`values` were measured after `step` optimiser steps."""

    def saved(self, step: int, folder: Path | None) -> None:
        """A resumable state of `step` is in `folder`. Called on every worker; `folder` is None except on rank 0.

        The folder is overwritten by the next state; a reporter that needs the state later copies it before returning.
        """


@dataclass
class CompositeReporter(Reporter):
    """Several reporters as one."""

    reporters: Sequence[Reporter]

    def start(self, step: int, steps: int) -> None:
        for reporter in self.reporters:
            reporter.start(step, steps)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for reporter in self.reporters:
            reporter.metrics(step, values)

    def saved(self, step: int, folder: Path | None) -> None:
        for reporter in self.reporters:
            reporter.saved(step, folder)


class JsonLines(Reporter):
    """Writes every report to a file, on a disk or at an s3:// address, one JSON object a line.

    The whole file is written whenever a state is saved, as object stores cannot append. Reports lost before that belong
    to steps that are trained again.
    """

    def __init__(self, file: str | Path) -> None:
        self._file = str(file)
        self._rows: list[Mapping[str, object]] = []

    def start(self, step: int, steps: int) -> None:
        """Keep earlier reports up to `step`; later steps are trained again."""
        self._rows = [row for row in _rows(self._file) if row["step"] <= step] if sources.exists(self._file) else []
        self._rows.append({"event": "start", "step": step, "steps": steps, "time": time.time()})

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._rows.append({"event": "metrics", "step": step, **values})

    def saved(self, step: int, folder: Path | None) -> None:
        if folder is not None:
            self._rows.append({"event": "saved", "step": step, "time": time.time()})
            parent, _, name = self._file.rpartition("/")
            shards.write_bytes("".join(json_text.dumps(row) + "\n" for row in self._rows).encode(), parent, name)


def training_minutes(file: str | Path) -> float:
    """The time from each start to the last state before the next start; what was trained twice counts once."""
    seconds, before = 0.0, 0.0
    for row in _rows(str(file)):
        if "time" in row:
            seconds += row["time"] - before if row["event"] == "saved" else 0.0
            before = row["time"]
    return seconds / 60


def _rows(file: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, sources.read_bytes(file).splitlines())
