"""The versions of models in the memory of one replica."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import torch

from layoutray.serving.model import LoadedVersion, Loader, Version, VersionError
from layoutray.serving.trial import load_tried

_MIB = 2**20

_log = logging.getLogger(__name__)


class LoadedVersions:
    """Versions of the default model, one of which is served, and of other models within a budget.

    A version that is not in memory is loaded when it is asked for, in a thread, while the others go on answering. If a
    version of another model finds no room in the budget, those that were not used for the longest time are unloaded.
    One that answers a batch is not unloaded.

    Args:
        first: the served version of the default model at the start.
        budget: bytes that the weights of the other models may take. The default model does not count.
        trial: called before a version other than `first` is loaded; raises VersionError when it cannot be served.

    Raises:
        VersionError: when `first` cannot be served.
    """

    def __init__(
        self, first: Version, loader: Loader, budget: int, trial: Callable[[Loader, Version], None] = load_tried
    ) -> None:
        self._loader = loader
        self._trial = trial
        self._budget = budget
        self._one_load = asyncio.Lock()
        self._loads: dict[Version, asyncio.Task[LoadedVersion]] = {}
        self._users: Counter[Version] = Counter()
        self.served = loader.load(first)
        self._loaded = {first: self.served}
        """The version that was used last is the last one."""

    async def get(self, version: Version) -> LoadedVersion:
        """A version, from memory if it is there. Raises VersionError when it cannot be served."""
        if version in self._loaded:
            return self._loaded[version]
        if version not in self._loads:
            self._loads[version] = asyncio.create_task(self._load(version))
            self._loads[version].add_done_callback(lambda _: self._loads.pop(version))
        # A load goes on when the request that has begun it ends: the next one needs the version too.
        return await asyncio.shield(self._loads[version])

    @asynccontextmanager
    async def use(self, version: Version) -> AsyncGenerator[LoadedVersion]:
        """A version that stays in memory during the block. Raises VersionError when it cannot be served."""
        loaded = await self.get(version)
        self._loaded.pop(version, None)
        self._loaded[version] = loaded
        self._users[version] += 1
        try:
            yield loaded
        finally:
            self._users[version] -= 1

    def in_memory(self, version: Version) -> LoadedVersion | None:
        return self._loaded.get(version)

    async def keep(self, versions: Sequence[Version]) -> None:
        """Unload all other versions of a model.

        The default model also has `versions` in memory afterwards, and the first of them is the served one.

        Raises:
            VersionError: when one of them cannot be loaded.
        """
        name = versions[0].name
        if not name:
            wanted = [await self.get(version) for version in versions]
            self.served = wanted[0]
        loaded = self._loaded.items()
        self._loaded = {version: one for version, one in loaded if version.name != name or version in versions}

    async def _load(self, version: Version) -> LoadedVersion:
        async with self._one_load:  # at a time
            if version.name:
                weights = await asyncio.to_thread(self._loader.weights, version)
                self._make_room(version, weights)
            while True:
                try:
                    await asyncio.to_thread(self._trial, self._loader, version)
                    loaded = await asyncio.to_thread(self._loader.load, version)
                    break
                except VersionError as error:  # others are unloaded as long as the free memory is too small
                    if error.code != "too_large" or not self._unload_one():
                        raise
            self._loaded[version] = loaded
            _log.info("version %s of model %s is loaded", loaded.description.model_version, loaded.description.model_id)
            return loaded

    def _make_room(self, version: Version, weights: int) -> None:
        """Unload other models until `weights` bytes fit into the budget. Raises VersionError when they cannot."""
        if weights > self._budget:
            message = (
                f"its weights take {_mib(weights)}, and all models but the default one may take {_mib(self._budget)}"
            )
            raise VersionError(version, "too_large", message)
        while self._taken() + weights > self._budget:
            if not self._unload_one():
                message = (
                    f"its weights take {_mib(weights)}, and models that are answering take {_mib(self._taken())} of "
                    f"the {_mib(self._budget)} for models; try again later"
                )
                raise VersionError(version, "no_room", message)

    def _unload_one(self) -> bool:
        """Unload the model that was not used for the longest time. Returns False when each is in use."""
        unused = (version for version in self._loaded if version.name and not self._users[version])
        version = next(unused, None)
        if version is None:
            return False
        del self._loaded[version]
        _log.info("version %s of model %s is unloaded", version.label, version.name)
        if self._loader.device.type == "cuda":
            torch.cuda.empty_cache()
        return True

    def _taken(self) -> int:
        """Bytes of the budget that are in use."""
        return sum(loaded.weights for version, loaded in self._loaded.items() if version.name)


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f} MiB"
