"""How much the replicas take at once."""

import asyncio
import logging
import math
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from ray import serve
from ray.serve.config import AutoscalingConfig
from ray.serve.schema import ApplicationStatusOverview

from layoutray.errors import InputError

_LOOK_SECONDS = 5.0
"""Time between two counts of the replicas. A count takes a tenth of a second of the ingress's processor time."""
_MEASURE_SECONDS = 1.0
"""How often the queue is measured, to decide on the number of replicas."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Capacity:
    """The replicas behind the ingress, and the share of one process of the ingress.

    Attributes:
        readers, models: how many there are, or, if their number may change, how many run now, at least 1: while none
            runs, what waits is for the one that is being started.
        batch_size: most pages of a model batch.
        ingresses: processes that share the replicas.
    """

    readers: int
    models: int
    batch_size: int
    ingresses: int = 1

    def share(self, total: int) -> int:
        """The share of one process of the ingress, rounded up."""
        return math.ceil(total / self.ingresses)

    def pages_in_ocr(self) -> int:
        """Pages at the readers: one more than readers, so that a reader that becomes free has its next page at once."""
        return self.share(self.readers) + 1

    def batches(self) -> int:
        """Batches at the model replicas: one that runs and one that comes next at each."""
        return self.share(2 * self.models)

    async def follow(self, count: Callable[[], tuple[int, int]]) -> None:
        """Keep the numbers of replicas up to date until cancelled.

        Args:
            count: gives the numbers of readers and model replicas that run.
        """
        while True:
            try:
                readers, models = await asyncio.to_thread(count)
                self.readers, self.models = max(readers, 1), max(models, 1)
            except Exception:
                _log.exception("the replicas cannot be counted; the former numbers stay")
            await asyncio.sleep(_LOOK_SECONDS)


def application_status(name: str) -> ApplicationStatusOverview | None:
    """What Serve says about an application; None if there is none of this name."""
    with _interval_allowed():
        return serve.status().applications.get(name)


class Slots:
    """Places, whose number may change.

    Args:
        number: gives the number of places now.
    """

    def __init__(self, number: Callable[[], int]) -> None:
        self._number = number
        self._taken = 0
        self._given_back = asyncio.Event()

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[None]:
        """Hold a place during the block; wait until there is one."""
        while self._taken >= self._number():
            self._given_back.clear()
            await self._given_back.wait()
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
            self._given_back.set()


@dataclass(frozen=True, slots=True)
class Scaling:
    """When the number of replicas changes, if it may. More of them are started if pages or batches wait.

    Attributes:
        look_back_s: seconds over which the queue is averaged.
        more_after_s: seconds for which a queue must last before replicas are added.
        fewer_after_s: seconds for which replicas must have been too many before some are stopped.
    """

    look_back_s: float = 10.0
    more_after_s: float = 10.0
    fewer_after_s: float = 300.0

    def __post_init__(self) -> None:
        for name in ("look_back_s", "more_after_s", "fewer_after_s"):
            if not 0 < getattr(self, name) < 86_400:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0 and below 86400 seconds")
        if self.look_back_s <= _MEASURE_SECONDS:
            raise InputError(f"look_back_s is {self.look_back_s}; it must be more than {_MEASURE_SECONDS:g} seconds")

    def options(self, least: int, most: int | None) -> dict[str, Any]:
        """Options of a deployment for its number of replicas: `least`, or up to `most` while calls wait at them."""
        if most is None or most == least:
            return {"num_replicas": least}
        with _interval_allowed():
            autoscaling = AutoscalingConfig(
                min_replicas=least,
                max_replicas=most,
                target_ongoing_requests=1,  # each replica runs one page or batch at a time
                metrics_interval_s=_MEASURE_SECONDS,
                look_back_period_s=self.look_back_s,
                upscale_delay_s=self.more_after_s,
                downscale_delay_s=self.fewer_after_s,
            )
        return {"autoscaling_config": autoscaling}


@contextmanager
def _interval_allowed() -> Generator[None]:
    """Ignore the warning of Ray that an environment variable will replace `metrics_interval_s`.

    This version does not read that variable. It warns whenever it reads an autoscaling configuration.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The `metrics_interval_s` field", DeprecationWarning)
        yield
