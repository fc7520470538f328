"""Estimate of the time that an ingest takes, from a sample of its pages."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from layoutray.document import Page
from layoutray.prepare.page_tasks import PageTask
from layoutray.prepare.recognise import make_word_source, recognise_page
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.dead_letter import DeadLetter

_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """Times of the sampled pages, processed one after the other in this process.

    Attributes:
        seconds: time of each sampled page, reading its file included.
        dead: number of sampled pages that failed.
        pages: number of all pages to process.
    """

    seconds: Sequence[float]
    dead: int
    pages: int

    def worker_hours(self) -> tuple[float, float]:
        """Core hours of all pages, and 1.96 standard errors of them.

        The error is infinite if the sample is one page of several.
        """
        mean, sampled = statistics.fmean(self.seconds), len(self.seconds)
        unsampled_share = 1 - sampled / self.pages
        deviation = statistics.stdev(self.seconds) if sampled > 1 else math.inf if unsampled_share else 0.0
        error = deviation * math.sqrt(unsampled_share / sampled) if unsampled_share else 0.0
        return self.pages * mean / 3600, _NORMAL_95 * self.pages * error / 3600


def estimate(
    tasks: Sequence[PageTask], recipe: IngestRecipe, sample: int, answer: Callable[[Page], object] | None = None
) -> Estimate:
    """Process `sample` (at least 1) of the tasks (at least 1), evenly spread over them. Writes nothing.

    Args:
        answer: is called with each page that was read; its time counts.
    """
    sampled = min(sample, len(tasks))
    seconds: list[float] = []
    dead = 0
    with make_word_source(recipe.reader, recipe.words, recipe.recognition) as words:
        recognise_page(words, tasks[0])  # starts the child process, which a worker does only once
        for index in range(sampled):
            started = time.perf_counter()
            result = recognise_page(words, tasks[index * len(tasks) // sampled])
            if answer and isinstance(result, Page):
                answer(result)
            seconds.append(time.perf_counter() - started)
            dead += isinstance(result, DeadLetter)
    return Estimate(seconds, dead, len(tasks))
