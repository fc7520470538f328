"""Progress of a long job: a bar on a terminal, an occasional line in a log."""

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from layoutray.cluster.progress import Progress
from layoutray.training.reporter import Reporter

_LINE_SECONDS = 10.0
_SLOWEST_SHOWN = 0.1
"""Of a second; slower rates are not shown."""
_METRICS = (
    *("loss", "grad_norm", "tokens_per_second", "mfu"),
    *("dev.loss", "dev.perplexity", "dev.precision", "dev.recall", "dev.f1"),
)
"""Metrics of a training that are shown; MLflow has all."""
_TITLES = {
    "open": "opening documents",
    "recognise": "reading pages",
    "encode": "encoding pages",
    "merge": "writing files of examples",
    "answer": "answering pages",
    "write": "generating texts of documents",
}


class ProgressDisplay:
    """Shows the progress of a job on stderr. A context manager; call it with each update."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
        )
        has_terminal = sys.stderr.isatty()
        self._bars = RichProgress(*columns, console=self._console, refresh_per_second=2, disable=not has_terminal)
        self._tasks: dict[str, TaskID] = {}
        self._last_line = 0.0
        self._stage, self._since, self._first = "", 0.0, 0

    def __enter__(self) -> Self:
        self._last_line = time.monotonic()
        self._bars.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._bars.stop()

    def __call__(self, progress: Progress) -> None:
        notes = [f"{progress.skipped} done before"] if progress.skipped else []
        notes += [f"{count} {reason}" for reason, count in progress.failures.most_common()]
        self.show(_TITLES[progress.stage], progress.done, progress.total, notes)

    def show(self, title: str, done: int, total: int, notes: Sequence[str] = (), *, at_once: bool = False) -> None:
        """Show the progress of the stage with this title. In a log, `at_once` writes a line immediately."""
        now = time.monotonic()
        # The rate counts from the first result of the stage, so that starting workers does not count.
        if title != self._stage or not self._first:
            self._stage, self._since, self._first = title, now, done
        rate = (done - self._first) / max(now - self._since, 1e-9)
        parts = [*([f"{rate:.1f}/s"] if rate >= _SLOWEST_SHOWN else []), *notes]
        note = f"({', '.join(parts)})" if parts else ""
        if not self._bars.disable:
            if title not in self._tasks:
                self._tasks[title] = self._bars.add_task(title, total=total, note="")
            self._bars.update(self._tasks[title], completed=done, total=total, note=note)
        elif at_once or now - self._last_line >= _LINE_SECONDS or done >= total:
            self._last_line = now
            seconds = (total - done) / rate if rate else 0.0
            left = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
            line = f"{title}: {done} of {total}{f', about {left} left' if seconds else ''} {note}"
            self._console.print(line.rstrip(), markup=False)


class TrainingDisplay(Reporter):
    """Shows the steps and metrics of a training, but not those `hidden`; those of an evaluation at once."""

    def __init__(self, display: ProgressDisplay, title: str, hidden: Collection[str]) -> None:
        self._display, self._title = display, title
        self._shown = {*_METRICS} - {*hidden}
        self._steps = 0

    def start(self, step: int, steps: int) -> None:
        self._steps = steps
        self._display.show(self._title, step, steps)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        notes = [f"{name} {value:.4g}" for name, value in values.items() if name in self._shown]
        is_evaluation = any(name.startswith("dev.") for name in values)
        self._display.show(self._title, step, self._steps, notes, at_once=is_evaluation)


def of_trainings(display: ProgressDisplay, steps: Mapping[str, int]) -> dict[str, Reporter]:
    """A reporter for each of several trainings with these numbers of steps, whose steps are shown as one number."""
    reached = dict.fromkeys(steps, 0)
    return {name: _StepsOfTraining(display, name, reached, sum(steps.values())) for name in steps}


@dataclass(frozen=True)
class _StepsOfTraining(Reporter):
    display: ProgressDisplay
    name: str
    reached: dict[str, int]
    total: int

    def start(self, step: int, steps: int) -> None:
        self.metrics(step, {})

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self.reached[self.name] = step
        self.display.show("training, steps of all models", sum(self.reached.values()), self.total)
