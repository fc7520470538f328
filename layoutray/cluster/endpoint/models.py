"""Where the models answer: in replicas, which are processes of their own, or in the process of the HTTP routes."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ray.serve.handle import DeploymentHandle

from layoutray.cluster.endpoint.calls import call, result_of
from layoutray.cluster.endpoint.replicas import ModelReplica, ModelResult, Request
from layoutray.document.answers import Problem
from layoutray.serving.model import ModelDescription, Version, VersionError

_LOADING_SECONDS = 600.0
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ModelReplicas:
    """All model replicas. Serve replaces one that dies or hangs, while the others and the HTTP routes go on.

    Coroutines are called in the event loop, the other methods in a thread that may wait. All raise ApiError (503) when
    nothing answers, except `answer`.
    """

    handle: DeploymentHandle

    async def answer(self, requests: Sequence[Request]) -> Sequence[ModelResult] | Problem:
        """The results of a batch, or what has happened to the process that was to answer it."""
        return await call(self.handle.answer.remote(requests), "model")

    async def is_late(self) -> bool:
        """Whether a batch has run for longer than the deadline."""
        return await result_of(self.handle.is_late.remote(), "model")

    async def check_health(self) -> None:
        """Raise when the process of the HTTP routes has to be replaced. Serve itself checks the replicas."""

    async def describe(self) -> ModelDescription:
        """The first version."""
        return await result_of(self.handle.describe.remote(), "model")

    def describe_now(self) -> ModelDescription:
        return self.handle.describe.remote().result()

    async def load(self, version: Version) -> ModelDescription | VersionError:
        """Have one process load a version."""
        return await result_of(self.handle.load.remote(version), "model")

    def load_everywhere(self, version: Version) -> ModelDescription | VersionError:
        """Have each process load a version. Returns the first refusal, else the description of the version."""
        answers: list[ModelDescription | VersionError] = self._broadcast("load", version)
        return next((answer for answer in answers if isinstance(answer, VersionError)), answers[0])

    def keep(self, *versions: Version) -> None:
        """Unload the versions of a model except these."""
        self._broadcast("keep", versions)

    def _broadcast(self, method: str, *arguments: Any) -> list[Any]:
        return self.handle.broadcast(method, *arguments).results(timeout_s=_LOADING_SECONDS)


class ModelsHere:
    """The models in the process and event loop of the HTTP routes: words need no other process."""

    def __init__(self, replica: ModelReplica) -> None:
        self._replica = replica
        self._loop = asyncio.get_running_loop()
        self.answer = replica.answer
        self.is_late = replica.is_late
        self.check_health = replica.check_health
        self.describe = replica.describe
        self.load = replica.load

    def describe_now(self) -> ModelDescription:
        return self._wait(self._replica.describe())

    def load_everywhere(self, version: Version) -> ModelDescription | VersionError:
        return self._wait(self._replica.load(version))

    def keep(self, *versions: Version) -> None:
        self._wait(self._replica.keep(versions))

    def _wait(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_LOADING_SECONDS)


Models = ModelReplicas | ModelsHere
"""What holds the models."""
