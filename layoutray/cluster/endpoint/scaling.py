"""How many replicas Serve runs."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ray import serve
from ray.serve.config import AutoscalingConfig
from ray.serve.schema import ApplicationStatusOverview

from layoutray.errors import InputError

_MEASURE_SECONDS = 1.0
"""How often the queue is measured, to decide on the number of replicas."""


def application_status(name: str) -> ApplicationStatusOverview | None:
    """What Serve says about an application; None if there is none of this name."""
    with _interval_allowed():
        return serve.status().applications.get(name)


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
