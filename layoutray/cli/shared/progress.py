"""Progress of a long job: a bar on a terminal, an occasional line in a log."""

import sys
import time
from collections.abc import Mapping
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from layoutray.cluster.progress import Progress
from layoutray.training.reporter import Reporter

_LINE_SECONDS = 10.0
_SLOWEST_SHOWN = 0.1
"""Of a second; slower rates are not shown."""
_TITLES = {
    "open": "opening documents",
    "recognise": "reading pages",
    "encode": "encoding pages",
    "merge": "writing files of examples",
    "answer": "answering pages",
    "train": "training, steps of all models",
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
        now, title = time.monotonic(), _TITLES[progress.stage]
        # The rate counts from the first result of the stage, so that starting workers does not count.
        if progress.stage != self._stage or not self._first:
            self._stage, self._since, self._first = progress.stage, now, progress.done
        rate = (progress.done - self._first) / max(now - self._since, 1e-9)
        parts = [f"{rate:.1f}/s"] if rate >= _SLOWEST_SHOWN else []
        parts += [f"{progress.skipped} done before"] if progress.skipped else []
        parts += [f"{count} {reason}" for reason, count in progress.failures.most_common()]
        note = f"({', '.join(parts)})" if parts else ""
        if not self._bars.disable:
            if progress.stage not in self._tasks:
                self._tasks[progress.stage] = self._bars.add_task(title, total=progress.total, note="")
            task = self._tasks[progress.stage]
            self._bars.update(task, completed=progress.done, total=progress.total, note=note)
        elif now - self._last_line >= _LINE_SECONDS or progress.done >= progress.total:
            self._last_line = now
            remaining = progress.total - progress.done
            left = f", about {_shown_time(remaining / rate)} left" if rate and remaining else ""
            line = f"{title}: {progress.done} of {progress.total}{left} {note}"
            self._console.print(line.rstrip(), markup=False)


def _shown_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class TrainingsDisplay:
    """Shows the steps of several trainings as one number."""

    def __init__(self, display: ProgressDisplay, steps: Mapping[str, int]) -> None:
        """Show trainings with these numbers of steps, by name."""
        self._display, self._total = display, sum(steps.values())
        self._reached = dict.fromkeys(steps, 0)

    @property
    def reporters(self) -> dict[str, Reporter]:
        return {name: _StepsOfTraining(self, name) for name in self._reached}

    def show(self, name: str, step: int) -> None:
        self._reached[name] = step
        self._display(Progress(stage="train", done=sum(self._reached.values()), total=self._total))


class _StepsOfTraining(Reporter):
    def __init__(self, shown: TrainingsDisplay, name: str) -> None:
        self._shown, self._name = shown, name

    def start(self, step: int, steps: int) -> None:
        self._shown.show(self._name, step)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._shown.show(self._name, step)
