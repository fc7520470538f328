"""How long an ingest will take, by doing a few of its pages."""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from layoutray.prepare.page_tasks import PageTask
from layoutray.prepare.recognise import lane, recognise_unit
from layoutray.recipe import IngestRecipe
from layoutray.store.dead_letter import DeadLetter

_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """Times of the sampled pages, one after the other in this process, and how many pages there are to do.

    Attributes:
        seconds: of each sampled page, that of fetching it included.
        dead: sampled pages that could not be read.
        pages: to do in all.
    """

    seconds: Sequence[float]
    dead: int
    pages: int

    def worker_hours(self) -> tuple[float, float]:
        """What all pages take on one core like this one, and 1.96 standard errors of it (infinite for a sample of one page of several)."""
        mean, drawn = statistics.fmean(self.seconds), len(self.seconds)
        left_out = 1 - drawn / self.pages
        deviation = statistics.stdev(self.seconds) if drawn > 1 else math.inf if left_out else 0.0
        error = deviation * math.sqrt(left_out / drawn) if left_out else 0.0
        return self.pages * mean / 3600, _NORMAL_95 * self.pages * error / 3600


def estimate(units: Sequence[PageTask], recipe: IngestRecipe, sample: int) -> Estimate:
    """Do `sample` (at least 1) of the pages to do (at least 1), evenly spread over them, and write nothing."""
    drawn = min(sample, len(units))
    seconds: list[float] = []
    dead = 0
    with lane(recipe.reader, recipe.words, recipe.recognition) as by:
        recognise_unit(by, units[0])  # starts what reads pages, which a worker does once
        for index in range(drawn):
            started = time.perf_counter()
            result = recognise_unit(by, units[index * len(units) // drawn])
            seconds.append(time.perf_counter() - started)
            dead += isinstance(result, DeadLetter)
    return Estimate(seconds, dead, len(units))
