"""The versions of the model in the memory of one replica."""

import asyncio
from collections.abc import Sequence

import torch

from layoutray.checkpoint import Fetch
from layoutray.cluster.serving.model_version import LoadedVersion, Version, load_version


class LoadedVersions:
    """Versions of the model, one of which is served.

    A version that is not in memory is loaded when it is asked for, in a thread, while the others go on answering.

    Args:
        first: the served version at the start.
        fetch: gives the folder of a checkpoint in this process.
        beams: beam width of a model that generates text.

    Raises:
        VersionError: when `first` cannot be served.
    """

    def __init__(self, first: Version, fetch: Fetch, beams: int, device: torch.device) -> None:
        self._fetch, self._beams, self._device = fetch, beams, device
        self._loading = asyncio.Lock()
        self.served = load_version(first, fetch, beams, device)
        self._loaded = {first.checkpoint: self.served}

    async def get(self, version: Version) -> LoadedVersion:
        """A version, from memory if it is there. Raises VersionError when it cannot be served."""
        if version.checkpoint not in self._loaded:
            async with self._loading:  # one at a time, and each one once
                if version.checkpoint not in self._loaded:
                    loaded = await asyncio.to_thread(load_version, version, self._fetch, self._beams, self._device)
                    self._loaded[version.checkpoint] = loaded
        return self._loaded[version.checkpoint]

    async def keep(self, versions: Sequence[Version]) -> None:
        """Hold exactly `versions` in memory; the first of them is the served one.

        Raises:
            VersionError: when one of them cannot be loaded.
        """
        loaded = [await self.get(version) for version in versions]
        self.served = loaded[0]
        self._loaded = {one.description.version.checkpoint: one for one in loaded}
