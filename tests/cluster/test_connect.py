import os

import pytest
import ray
from ray.data import DataContext

from layoutray.cluster.connect import connect, num_cores, num_workers


@pytest.mark.ray
def test_what_was_started_here_is_stopped_here_and_by_the_outermost_alone() -> None:
    assert not ray.is_initialized()
    with connect(cores=1):
        assert num_workers() == 1
        assert ray.cluster_resources()["CPU"] > 1, "workers on every core must leave Ray's own tasks a CPU"
        assert DataContext.get_current().execution_no_progress_timeout_s <= 120
        assert os.environ["OMP_THREAD_LIMIT"] == "1"
        with connect():
            assert num_workers() == 1
        assert ray.is_initialized()
    assert not ray.is_initialized()


def test_cores_are_those_that_this_process_may_use() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert num_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
