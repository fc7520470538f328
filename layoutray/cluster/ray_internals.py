"""What we use of Ray beyond its public names. No other file does, so this is what a new release of Ray can break."""

import importlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import ray


def free_memory() -> int:
    """Bytes that the processes of this node may still take, within the limit of its container."""
    return int(_internal("ray._private.utils", "estimate_available_memory")())


def set_request_id(request_id: str) -> None:
    """Give Serve's logs, and calls of replicas from the present task, the id of the request."""
    _internal("ray.serve.context", "_set_request_context")(request_id=request_id)


@contextmanager
def on_loopback() -> Generator[None]:
    """Let a Ray that the block starts listen on the loopback interface only, with all its processes.

    Ray does that where this switch says that a node has no cluster, as it is on macOS and Windows. Without it, some
    twelve ports are open to the network, also for an endpoint on 127.0.0.1.
    """
    constants, name = "ray._private.ray_constants", "ENABLE_RAY_CLUSTER"
    variable = _internal(constants, "ENABLE_RAY_CLUSTERS_ENV_VAR")
    before, given = _internal(constants, name), os.environ.get(variable)
    module: Any = importlib.import_module(constants)
    os.environ[variable], module.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        module.ENABLE_RAY_CLUSTER = before
        os.environ.pop(variable) if given is None else os.environ.update({variable: given})


def _internal(module: str, name: str) -> Any:
    """A name of Ray that is not public. Raises ImportError with the version of Ray if it is gone."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"Ray {ray.__version__} has no {module}.{name}, which layoutray uses; "
            "install the version of constraints.txt, or change layoutray/cluster/ray_internals.py"
        ) from error
