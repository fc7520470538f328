"""Calls of replicas, which may die."""

import asyncio
import logging
from typing import Any

from ray.exceptions import RayActorError
from ray.serve.exceptions import DeploymentUnavailableError, ReplicaUnavailableError

from layoutray.document.answers import Problem
from layoutray.serving import failures

_REPLICA_DIED = (RayActorError, DeploymentUnavailableError, ReplicaUnavailableError)

_log = logging.getLogger(__name__)


async def call(response: Any, stage: str, page_number: int | None = None) -> Any:
    """Await the response of a replica, a Problem when it died. Cancels the call when the caller is cancelled."""
    try:
        return await response
    except asyncio.CancelledError:
        response.cancel()
        raise
    except _REPLICA_DIED as error:
        _log.warning("a replica died at stage %s: %s", stage, error)
        message = "the replica that processed this died; another one is being started; try again"
        return Problem(code=failures.UNAVAILABLE, stage=stage, message=message, retryable=True, page_number=page_number)


async def result_of(response: Any, stage: str) -> Any:
    """As `call`, but raises ApiError for a Problem."""
    result = await call(response, stage)
    if isinstance(result, Problem):
        raise failures.error_of(result)
    return result
