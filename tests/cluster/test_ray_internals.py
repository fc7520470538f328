"""The names of Ray that are not public. A new release of Ray can remove them; then these tests say which."""

import psutil
import pytest
import ray.serve.context

from layoutray.cluster import ray_internals


def test_free_memory_is_no_more_than_that_of_the_machine() -> None:
    assert 0 < ray_internals.free_memory() <= psutil.virtual_memory().total


def test_calls_of_replicas_have_the_id_of_the_request() -> None:
    ray_internals.set_request_id("an id")
    assert ray.serve.context._get_serve_request_context().request_id == "an id"


def test_a_name_that_is_gone_is_named_with_the_version_of_ray_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ray.serve.context, "_set_request_context")
    with pytest.raises(ImportError) as caught:
        ray_internals.set_request_id("an id")
    assert str(caught.value) == (
        f"Ray {ray.__version__} has no ray.serve.context._set_request_context, which layoutray uses; "
        "install the version of constraints.txt, or change layoutray/cluster/ray_internals.py"
    )
