"""One process receives requests."""

from types import SimpleNamespace

import pytest
from ray import serve

from layoutray.cluster.endpoint.ingress import Ingress
from layoutray.cluster.endpoint.versions import NO_REGISTRY
from layoutray.errors import InputError
from layoutray.serving.settings import ServeSettings


def test_several_ingresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "get_replica_context", lambda: SimpleNamespace(app_name="layoutray", world_size=2))
    with pytest.raises(InputError, match="the deployment Ingress has 2 replicas; it must have one: leave its num_rep"):
        Ingress(ServeSettings("checkpoint"), None, None, NO_REGISTRY)  # pyright: ignore[reportArgumentType]
