"""Which version of the model answers requests: the one that an alias of the registry names, if it can be served."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from ray.serve.handle import DeploymentHandle

from layoutray.cluster.serving.model_version import ModelDescription, Refusal, Version
from layoutray.cluster.serving.telemetry import Telemetry
from layoutray.errors import LayoutrayError

Lookup = Callable[[], Version]
"""Gives the version that is to be served now. Raises LayoutrayError when the registry does not answer."""

_RETRY_SECONDS = 60.0
"""A refused version is tried again after this time: its files may have been unreachable."""
_LOADING_SECONDS = 600.0

_log = logging.getLogger(__name__)


class ServedVersion:
    """The served version, and why the version of the alias is not it.

    A thread asks `lookup` for the version to serve. A new one is loaded by all replicas beside the served one, and
    then becomes the served one. The former one stays in their memory, so that a rollback needs no loading. A version
    that one replica refuses is not served; the endpoint goes on with the present one.

    Args:
        replicas: the model replicas.
        lookup: None serves one version for ever.
        interval_s: seconds between two calls of `lookup`.
    """

    def __init__(
        self, replicas: DeploymentHandle, lookup: Lookup | None, interval_s: float, telemetry: Telemetry
    ) -> None:
        self._replicas = replicas
        self._telemetry = telemetry
        self._served: ModelDescription | None = None
        self._former: Version | None = None
        self._refused_at = 0.0
        self.refusal: Refusal | None = None
        """Why the version of the alias is not served; None when it is."""
        if lookup:
            threading.Thread(target=self._follow, args=(lookup, interval_s), daemon=True).start()

    @property
    def description(self) -> ModelDescription | None:
        """The served version; None until `learn` was called."""
        return self._served

    def learn(self, description: ModelDescription) -> ModelDescription:
        """The served version. It is `description`, what a replica says, if it was not known."""
        if self._served is None:
            self._serve(description)
        return self._served or description

    def _follow(self, lookup: Lookup, interval_s: float) -> None:
        while True:
            try:
                served = self._served or self.learn(self._replicas.describe.remote().result())
                self._update(lookup(), served)
            except LayoutrayError as error:
                self._telemetry.version("unknown")
                _log.warning("version %s is served on: %s", self._served and self._served.model_version, error)
            except Exception:
                _log.exception("the version to serve could not be changed; this is tried again")
            time.sleep(interval_s)

    def _update(self, wanted: Version, served: ModelDescription) -> None:
        """Serve `wanted` if it can be served."""
        recently_refused = (
            self.refusal and self.refusal.version == wanted and time.monotonic() < self._refused_at + _RETRY_SECONDS
        )
        if wanted != served.version and not recently_refused:
            offered = self._load(wanted, served)
            if isinstance(offered, Refusal):
                self._refuse(offered, served)
            else:
                self._former, self.refusal = served.version, None
                self._serve(offered)
                served = offered
        elif wanted == served.version:
            self.refusal = None
        # Every time, since a replica that was started again knows only the first version.
        self._broadcast("keep", [served.version, *([self._former] if self._former else [])])

    def _load(self, wanted: Version, served: ModelDescription) -> ModelDescription | Refusal:
        """What all replicas say about `wanted`: the first refusal, else its description.

        If `wanted` does not fit into memory beside the former version, that one is removed.
        """
        offered = self._offer(wanted)
        if isinstance(offered, Refusal) and offered.code == "too_large" and self._former:
            self._former = None
            self._broadcast("keep", [served.version])
            offered = self._offer(wanted)
        if isinstance(offered, ModelDescription) and _kind(offered) != _kind(served):
            return Refusal(wanted, "foreign", f"it is {_kind(offered)}; this endpoint serves {_kind(served)}")
        return offered

    def _offer(self, wanted: Version) -> ModelDescription | Refusal:
        answers: list[ModelDescription | Refusal] = self._broadcast("load", wanted)
        return next((answer for answer in answers if isinstance(answer, Refusal)), answers[0])

    def _serve(self, description: ModelDescription) -> None:
        self._served = description
        self._telemetry.served(description.model_version)
        _log.info("version %s is served", description.model_version)

    def _refuse(self, refusal: Refusal, served: ModelDescription) -> None:
        self.refusal, self._refused_at = refusal, time.monotonic()
        self._telemetry.version(refusal.code)
        _log.warning(
            "%s is refused, %s: %s; version %s is served on",
            refusal.version.checkpoint,
            refusal.code,
            refusal.message,
            served.model_version,
        )

    def _broadcast(self, method: str, *arguments: Any) -> list[Any]:
        return self._replicas.broadcast(method, *arguments).results(timeout_s=_LOADING_SECONDS)


def _kind(description: ModelDescription) -> str:
    """What a version of the same model has in common with the others."""
    return f"a model of task {description.task} at {description.path}"
