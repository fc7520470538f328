"""What we use of Ray beyond its public names. No other file does, so this is what a new release of Ray can break."""

import importlib
from typing import Any

import ray


def free_memory() -> int:
    """Bytes that the processes of this node may still take, within the limit of its container."""
    return int(_internal("ray._private.utils", "estimate_available_memory")())


def set_request_id(request_id: str) -> None:
    """Give Serve's logs, and calls of replicas from the present task, the id of the request."""
    _internal("ray.serve.context", "_set_request_context")(request_id=request_id)


def _internal(module: str, name: str) -> Any:
    """A name of Ray that is not public. Raises ImportError with the version of Ray if it is gone."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"Ray {ray.__version__} has no {module}.{name}, which layoutray uses; "
            "install the version of constraints.txt, or change layoutray/cluster/ray_internals.py"
        ) from error
