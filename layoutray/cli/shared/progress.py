"""Progress of a long job: a bar on a terminal, an occasional line in a log."""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from layoutray.cluster.progress import Progress

_LINE_SECONDS = 10.0
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
        self._display = _Bar() if sys.stderr.isatty() else _Lines()

    def __call__(self, progress: Progress) -> None:
        self._display.show(progress)

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._display.stop()


class _RateMeter:
    """Items per second of the current stage, counted from its first result, so that starting workers does not count."""

    def __init__(self) -> None:
        self._stage, self._since, self._first = "", 0.0, 0

    def rate(self, progress: Progress) -> float:
        now = time.monotonic()
        if progress.stage != self._stage or not self._first:
            self._stage, self._since, self._first = progress.stage, now, progress.done
        return (progress.done - self._first) / max(now - self._since, 1e-9)


class _Bar:
    def __init__(self) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
        )
        self._bars = RichProgress(*columns, console=Console(stderr=True), refresh_per_second=2)
        self._meter = _RateMeter()
        self._tasks: dict[str, TaskID] = {}

    def start(self) -> None:
        self._bars.start()

    def stop(self) -> None:
        self._bars.stop()

    def show(self, progress: Progress) -> None:
        if progress.stage not in self._tasks:
            self._tasks[progress.stage] = self._bars.add_task(_TITLES[progress.stage], total=progress.total, note="")
        note = _note(progress, self._meter.rate(progress))
        self._bars.update(self._tasks[progress.stage], completed=progress.done, total=progress.total, note=note)


class _Lines:
    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._meter = _RateMeter()
        self._last = 0.0

    def start(self) -> None:
        self._last = time.monotonic()

    def stop(self) -> None:
        """Nothing to do: every line is already written."""

    def show(self, progress: Progress) -> None:
        rate = self._meter.rate(progress)
        now = time.monotonic()
        if now - self._last < _LINE_SECONDS and progress.done < progress.total:
            return
        self._last = now
        remaining = progress.total - progress.done
        left = f", about {remaining / rate:.0f} s left" if rate and remaining else ""
        line = f"{_TITLES[progress.stage]}: {progress.done} of {progress.total}{left} {_note(progress, rate)}"
        self._console.print(line.rstrip(), markup=False)


def _note(progress: Progress, rate: float) -> str:
    parts = [f"{rate:.1f}/s"] if rate else []
    parts += [f"{progress.skipped} done before"] if progress.skipped else []
    parts += [f"{count} {reason}" for reason, count in progress.failures.most_common()]
    return f"({', '.join(parts)})" if parts else ""
