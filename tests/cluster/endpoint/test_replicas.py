"""A model replica that can no longer answer is replaced."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from ray import serve

from layoutray.cluster.endpoint.replicas import BatchResult, HeldModels, ModelReplica, PageRequest
from layoutray.document import Page
from layoutray.document.answers import Problem
from layoutray.inference.extractor import Extractor
from layoutray.serving.model import Version
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages

pytestmark = pytest.mark.ray


class BreakableReplica(ModelReplica):
    """A replica whose model can fail for ever, as after an error of CUDA, or only on pages of several words."""

    async def pid(self) -> int:
        return os.getpid()

    async def break_model(self, only_long: bool) -> None:
        model = self._versions.served.model
        assert isinstance(model, Extractor)
        working = model.read

        def broken(given: Sequence[Page]) -> object:
            if only_long and all(len(page.words) == 1 for page in given):
                return working(given)
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        model.read = broken


@pytest.mark.usefixtures("cluster")
def test_a_replica_is_replaced_when_its_model_fails_on_every_page(tmp_path: Path) -> None:
    save_untrained(tmp_path / "checkpoint")
    serve.start(proxy_location="Disabled")
    deployment = serve.deployment(
        health_check_period_s=1, graceful_shutdown_timeout_s=1, ray_actor_options={"num_cpus": 0.1}
    )(BreakableReplica)
    version = Version(str(tmp_path / "checkpoint"), "")
    bound = deployment.bind(HeldModels(first=version, fetch=str, beams=1, budget=0, deadline_s=60))
    handle = serve.run(bound, name="breakable", route_prefix=None)

    def answer() -> BatchResult[object] | Problem:
        (result,) = handle.answer.remote([PageRequest(version, pages(1)[0])]).result()
        return result

    first = handle.pid.remote().result()
    assert isinstance(answer(), BatchResult)
    handle.break_model.remote(True).result()
    assert isinstance(answer(), Problem)
    time.sleep(4)
    assert handle.pid.remote().result() == first, "one page that fails is no reason"
    handle.break_model.remote(False).result()
    assert isinstance(answer(), Problem)
    until = time.monotonic() + 90
    while time.monotonic() < until and not isinstance(answer(), BatchResult):
        time.sleep(0.5)
    assert handle.pid.remote().result() != first
    assert isinstance(answer(), BatchResult)
    serve.delete("breakable")
