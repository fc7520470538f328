"""How many replicas Serve runs."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ray import serve
from ray.serve.config import AutoscalingConfig
from ray.serve.schema import ApplicationStatusOverview

from layoutray.serving.settings import MEASURE_SECONDS, Scaling


def application_status(name: str) -> ApplicationStatusOverview | None:
    """What Serve says about an application; None if there is none of this name."""
    with _interval_allowed():
        return serve.status().applications.get(name)


def replica_options(scaling: Scaling, least: int, most: int | None) -> dict[str, Any]:
    """Options of a deployment for its number of replicas: `least`, or up to `most` while calls wait at them."""
    if most is None or most == least:
        return {"num_replicas": least}
    with _interval_allowed():
        autoscaling = AutoscalingConfig(
            min_replicas=least,
            max_replicas=most,
            target_ongoing_requests=1,  # each replica runs one page or batch at a time
            metrics_interval_s=MEASURE_SECONDS,
            look_back_period_s=scaling.look_back_s,
            upscale_delay_s=scaling.more_after_s,
            downscale_delay_s=scaling.fewer_after_s,
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
