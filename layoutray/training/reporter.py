"""Where training tells what happens. The loop calls a reporter on the leading worker, and `saved` on every worker."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from layoutray.store import json_text, shards, sources

_SHOWN = ("loss", "tokens_per_second", "dev.loss", "dev.perplexity", "dev.precision", "dev.recall", "dev.f1")
"""What fits on a line; everything else is in MLflow."""
HISTORY = "history.jsonl"
"""The file of `JsonLines` in a checkpoint folder."""


class Reporter(Protocol):
    """Takes what the loop has to say."""

    def start(self, step: int, steps: int) -> None:
        """Training starts (or goes on) at `step` of `steps`."""
        ...

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        """Measured after `step` optimiser steps."""
        ...

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        """A resumable state of `step` lies in `folder`; called on every worker, with a folder on the leading one only.

        The folder is overwritten later: who wants to keep it copies it before returning.
        """
        ...


@dataclass
class CompositeReporter:
    """Several reporters as one."""

    reporters: Sequence[Reporter]

    def start(self, step: int, steps: int) -> None:
        for reporter in self.reporters:
            reporter.start(step, steps)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for reporter in self.reporters:
            reporter.metrics(step, values)

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        for reporter in self.reporters:
            reporter.saved(step, folder, values)


@dataclass
class History:
    """Keeps everything in memory, for curves and tests: (step, value) by metric."""

    series: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def start(self, step: int, steps: int) -> None:
        """Nothing to do: a history has no beginning."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.series.setdefault(name, []).append((step, value))

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        """Nothing to keep: states are files."""


class ProgressBar(AbstractContextManager["ProgressBar"]):
    """A bar on a terminal; where the output is no terminal, a line per report, at most one in five seconds."""

    def __init__(self, title: str) -> None:
        self._console = Console(stderr=True)
        self._title = title
        self._columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[values]}"),
        )
        self._progress = Progress(*self._columns, console=self._console, disable=not self._console.is_terminal)
        self._task = self._progress.add_task(title, total=None, values="")
        self._spoken = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, step: int, steps: int) -> None:
        self._progress.update(self._task, total=steps, completed=step)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        text = "  ".join(f"{name} {value:.4g}" for name, value in values.items() if name in _SHOWN)
        self._progress.update(self._task, completed=step, values=text)
        total = self._progress.tasks[0].total
        due = time.monotonic() - self._spoken > 5 or step == total or "dev.loss" in values or "dev.f1" in values
        if not self._console.is_terminal and due:
            self._spoken = time.monotonic()
            self._console.print(
                f"{self._title} {step}/{total:.0f}  {text}" if total else f"{self._title} {step}  {text}",
                highlight=False,
            )

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        """Saving is not worth a word on the bar."""


class JsonLines:
    """Keeps every report in a file, on disks or at an address, one JSON object a line.

    It is written whenever a state is saved, as a whole: object stores append nothing. What is lost by then is trained again.
    """

    def __init__(self, file: str | Path) -> None:
        self._file = str(file)
        self._rows: list[Mapping[str, object]] = []

    def start(self, step: int, steps: int) -> None:
        """Keep what was reported of the steps up to `step`: all others are trained again."""
        self._rows = [row for row in _rows(self._file) if row["step"] <= step] if sources.exists(self._file) else []
        self._rows.append({"event": "start", "step": step, "steps": steps})

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._rows.append({"event": "metrics", "step": step, **values})

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        if folder is not None:
            self._rows.append({"event": "saved", "step": step})
            where, _, name = self._file.rpartition("/")
            shards.write_bytes("".join(json_text.dumps(row) + "\n" for row in self._rows).encode(), where, name)


def read_history(file: str | Path) -> dict[str, list[tuple[int, float]]]:
    """What `JsonLines` has written, as (step, value) by metric."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in _rows(str(file)):
        if row.pop("event") == "metrics":
            step = row.pop("step")
            for name, value in row.items():
                series.setdefault(name, []).append((step, float(value)))
    return series


def _rows(file: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, sources.read_bytes(file).splitlines())
