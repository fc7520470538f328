"""Workers that request GPUs, on a Ray that declares one GPU. Whether there is one does not matter."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from layoutray.cluster.connect import connect
from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import predict
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages, write_pages

pytestmark = pytest.mark.ray


@pytest.fixture
def one_gpu() -> Iterator[None]:
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False)
    try:
        with connect():
            yield
    finally:
        ray.shutdown()


@pytest.mark.usefixtures("one_gpu")
def test_pages_are_answered_by_a_replica_with_a_gpu(tmp_path: Path) -> None:
    save_untrained(tmp_path / "checkpoint")
    ingested = write_pages(tmp_path / "ingested", pages(3))
    answered = predict(tmp_path / "checkpoint", ingested, str(tmp_path / "out"), replicas=Replicas(1, gpus=1))
    assert answered.answered == 3
