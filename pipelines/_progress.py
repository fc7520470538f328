"""How a long job shows how far it is: a bar on a terminal, a line now and then in a log."""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from layoutray.cluster.progress import Progress

_LINE_SECONDS = 10.0
_WORDS = {
    "open": ("opening", "documents"),
    "recognise": ("reading", "pages"),
    "encode": ("encoding", "pages"),
    "answer": ("answering", "pages"),
    "write": ("writing about", "documents"),
}


class ProgressShown:
    """Takes the progress of a job; enter it before use. Speaks on stderr."""

    def __init__(self) -> None:
        self._shown = _Bar() if sys.stderr.isatty() else _Lines()

    def __call__(self, progress: Progress) -> None:
        self._shown.show(progress)

    def __enter__(self) -> Self:
        self._shown.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._shown.stop()


class _Clock:
    """Speed of the current stage, from its first result on: starting the workers is not their speed."""

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
        self._bars = Bars(*columns, console=Console(stderr=True), refresh_per_second=2)
        self._clock = _Clock()
        self._tasks: dict[str, TaskID] = {}

    def start(self) -> None:
        self._bars.start()

    def stop(self) -> None:
        self._bars.stop()

    def show(self, progress: Progress) -> None:
        verb, noun = _WORDS[progress.stage]
        if progress.stage not in self._tasks:
            self._tasks[progress.stage] = self._bars.add_task(f"{verb} {noun}", total=progress.total, note="")
        note = _note(progress, self._clock.rate(progress))
        self._bars.update(self._tasks[progress.stage], completed=progress.done, total=progress.total, note=note)


class _Lines:
    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._clock = _Clock()
        self._last = 0.0

    def start(self) -> None:
        self._last = time.monotonic()

    def stop(self) -> None:
        """Every line stands already."""

    def show(self, progress: Progress) -> None:
        rate = self._clock.rate(progress)
        now = time.monotonic()
        if now - self._last < _LINE_SECONDS and progress.done < progress.total:
            return
        self._last = now
        verb, noun = _WORDS[progress.stage]
        left = (
            f", about {(progress.total - progress.done) / rate:.0f} s left"
            if rate and progress.done < progress.total
            else ""
        )
        self._console.print(
            f"{verb} {noun}: {progress.done} of {progress.total}{left} {_note(progress, rate)}".rstrip(), markup=False
        )


def _note(progress: Progress, rate: float) -> str:
    parts = [f"{rate:.1f}/s"] if rate else []
    parts += [f"{progress.skipped} done before"] if progress.skipped else []
    parts += [f"{count} {reason}" for reason, count in progress.failures.most_common()]
    return f"({', '.join(parts)})" if parts else ""
