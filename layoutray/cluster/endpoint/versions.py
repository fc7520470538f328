"""Which version of a model answers requests: the one that an alias of the registry names, if it can be served."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from layoutray.checkpoint import Fetch
from layoutray.cluster.endpoint.models import Models
from layoutray.errors import ApiError, LayoutrayError
from layoutray.serving import failures
from layoutray.serving.model import ModelDescription, ModelState, Version, VersionError
from layoutray.serving.telemetry import Telemetry

Lookup = Callable[[], Version]
"""Gives the version that is to be served now. Raises LayoutrayError when the registry does not answer."""

Find = Callable[[str], Version]
"""Gives the version that an address of a model names now. Raises LayoutrayError when the registry does not answer."""

_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 60.0, 960.0
"""A refused version is tried again after the first time, and later after twice the time before, up to the second one:
its files may have been unreachable, and a trial takes processor time."""

_log = logging.getLogger(__name__)


def own_version(address: str) -> Version:
    """The version of a checkpoint that has no registry: its own one, for ever."""
    return Version(address, "")


@dataclass(frozen=True, slots=True)
class Registry:
    """Where versions come from. By default each model is a checkpoint that never changes.

    Attributes:
        fetch: gives the folder of a checkpoint in the process that reads it.
        lookup: gives the version of the default model to serve, again and again; None serves that of the settings for
            ever.
        find: gives the version to serve of another model, from its entry in `ServeSettings.models`, again and again.
    """

    fetch: Fetch = str
    lookup: Lookup | None = None
    find: Find = own_version


NO_REGISTRY = Registry()


class ServedVersion:
    """The served version of the default model, and why the version of the alias is not it.

    A thread asks `lookup` for the version to serve. A new one is loaded by all replicas beside the served one, and
    then becomes the served one. The former one stays in their memory, so that a rollback needs no loading. A version
    that one replica refuses is not served; the endpoint goes on with the present one.

    Args:
        lookup: None serves one version for ever.
        interval_s: seconds between two calls of `lookup`.
    """

    def __init__(self, models: Models, lookup: Lookup | None, interval_s: float, telemetry: Telemetry) -> None:
        self._models = models
        self._telemetry = telemetry
        self._served: ModelDescription | None = None
        self._refusal: VersionError | None = None
        self._former: Version | None = None
        self._refused_at, self._pause_s = 0.0, _RETRY_SECONDS
        self._registry_answers = True
        if lookup:
            threading.Thread(target=self._follow, args=(lookup, interval_s), daemon=True).start()

    @property
    def state(self) -> ModelState:
        return ModelState(self._served, self._refusal)

    async def ask(self) -> ModelDescription:
        """The served version, after a replica has answered. Raises ApiError (503) when none answers."""
        return self.learn(await self._models.describe())

    def learn(self, description: ModelDescription) -> ModelDescription:
        """The served version. It is `description`, what a replica says, if it was not known."""
        if self._served is None:
            self._serve(description)
        return self._served or description

    def _follow(self, lookup: Lookup, interval_s: float) -> None:
        while True:
            try:
                if (served := self._served or self._first()) and (wanted := self._look_up(lookup)):
                    self._update(wanted, served)
            except Exception:
                _log.exception("the version to serve could not be changed; this is tried again")
            time.sleep(interval_s)

    def _look_up(self, lookup: Lookup) -> Version | None:
        """The version to serve; None when the registry does not say it, of which the log has the first time."""
        try:
            wanted = lookup()
        except LayoutrayError as error:
            self._telemetry.version("unknown")
            level = logging.WARNING if self._registry_answers else logging.DEBUG
            _log.log(level, "version %s is served on: %s", self._served and self._served.model_version, error)
            self._registry_answers = False
            return None
        if not self._registry_answers:
            _log.info("the registry answers again")
        self._registry_answers = True
        return wanted

    def _first(self) -> ModelDescription | None:
        """The first version that is served; None if that is not decided here."""
        return self.learn(self._models.describe_now())

    def _recent_refusal(self, wanted: Version) -> VersionError | None:
        """The refusal of `wanted`, which is too recent to try it again."""
        refusal = self._refusal
        if not refusal or refusal.version != wanted or refusal.code == "no_room":  # there may be room now
            return None
        return refusal if time.monotonic() < self._refused_at + self._pause_s else None

    def _update(self, wanted: Version, served: ModelDescription) -> None:
        if wanted != served.version and not self._recent_refusal(wanted):
            offered = self._load(wanted, served)
            if isinstance(offered, VersionError):
                self._refuse(offered)
            else:
                self._former, self._refusal = served.version, None
                self._serve(offered)
                served = offered
        elif wanted == served.version:
            self._refusal = None
        self._keep(served)

    def _load(self, wanted: Version, served: ModelDescription) -> ModelDescription | VersionError:
        """What all replicas say about `wanted`: the first refusal, else its description.

        If `wanted` does not fit into memory beside the former version, that one is removed.
        """
        offered = self._models.load_everywhere(wanted)
        if isinstance(offered, VersionError) and offered.code == "too_large" and self._former:
            self._former = None
            self._models.keep(served.version)
            offered = self._models.load_everywhere(wanted)
        if isinstance(offered, ModelDescription) and _kind(offered) != _kind(served):
            return VersionError(wanted, "foreign", f"it is {_kind(offered)}; this endpoint serves {_kind(served)}")
        return offered

    def _keep(self, served: ModelDescription) -> None:
        """Let the replicas unload the other versions. A replica that was started again knows only the first one."""
        self._models.keep(served.version, *([self._former] if self._former else []))

    def _serve(self, description: ModelDescription) -> None:
        former, self._served = self._served, description
        self._telemetry.served(description, former)
        _log.info("version %s of model %s is served", description.model_version, description.model_id)

    def _refuse(self, refusal: VersionError) -> None:
        again = self._refusal is not None and self._refusal.version == refusal.version
        self._pause_s = min(2 * self._pause_s, _LONGEST_RETRY_SECONDS) if again else _RETRY_SECONDS
        self._refusal, self._refused_at = refusal, time.monotonic()
        self._telemetry.version(refusal.code)
        _log.warning(
            "%s is refused, %s: %s; version %s is served on",
            refusal.version.checkpoint,
            refusal.code,
            refusal.message,
            self._served and self._served.model_version,
        )


class VersionOnDemand(ServedVersion):
    """The served version of another model than the default one. The first request for it has it loaded."""

    def __init__(self, name: str, models: Models, lookup: Lookup, interval_s: float, telemetry: Telemetry) -> None:
        self._one_ask = asyncio.Lock()
        self._kept: Version | None = None
        self._looking: asyncio.Task[Version] | None = None
        self._wanted: Lookup = lambda: replace(lookup(), name=name)
        super().__init__(models, self._wanted, interval_s, telemetry)

    async def ask(self) -> ModelDescription:
        """The served version; it is loaded if there was none. Raises ApiError (503) when it cannot be."""
        async with self._one_ask:
            return self._served or await self._load_first()

    def _first(self) -> None:
        """No version is served until a request asks for one."""

    def _keep(self, served: ModelDescription) -> None:
        """Let the replicas unload the other versions, once: they load what requests ask for."""
        if self._kept != served.version:
            super()._keep(served)
            self._kept = served.version

    async def _load_first(self) -> ModelDescription:
        try:
            # A slow registry holds one thread, however many requests have given up meanwhile.
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(asyncio.to_thread(self._wanted))
            wanted = await asyncio.shield(self._looking)
        except LayoutrayError as error:
            self._telemetry.version("unknown")
            _log.warning("a model cannot be loaded: %s", error)
            message = "the registry does not say which version of the model to load; try again later"
            raise ApiError(503, failures.UNAVAILABLE, message, retryable=True) from error
        refusal = self._recent_refusal(wanted)
        offered = refusal or await self._models.load(wanted)
        if isinstance(offered, ModelDescription):
            self._refusal = None
            return self.learn(offered)
        if not refusal:
            self._refuse(offered)
        if offered.code == "no_room":
            raise ApiError(503, "overloaded", f"the model cannot be loaded now: {offered.message}", retryable=True)
        message = f"the model cannot be served: {offered.message}"
        raise ApiError(503, "model_refused", message, retryable=offered.code == "broken")


def _kind(description: ModelDescription) -> str:
    """What a version of the same model has in common with the others."""
    return f"a model of task {description.task} at {description.path}"
