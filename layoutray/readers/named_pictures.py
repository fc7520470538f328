"""Pictures that a file from another machine names: used below folders that the user has named, and nowhere else."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutray.store import sources

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class NamedPictures:
    """Pictures below some folders, and those that were named and are `outside` of them."""

    folders: Sequence[str]
    outside: list[str] = field(default_factory=list[str])

    def usable(self, image: str) -> str:
        """`image` if it is below a folder, or a `data:` URI; else empty."""
        if not image or image.startswith("data:") or any(_is_below(image, folder) for folder in self.folders):
            return image
        self.outside.append(image)
        return ""

    def warn(self) -> None:
        if self.outside:
            _log.warning(
                "%d pages name pictures outside %s, for example %.200s; they are read without a picture; to use them, "
                "name their folders in the recipe key `pictures`",
                len(self.outside),
                ", ".join(self.folders),
                self.outside[0],
            )


def _is_below(uri: str, folder: str) -> bool:
    """Whether a path or address is below a folder, by their names: links are not resolved."""
    local, root = sources.local_path(uri), sources.local_path(folder)
    if local is None or root is None:
        return local is root and uri.startswith(f"{folder.rstrip('/')}/") and ".." not in uri.split("/")
    return local != root and Path(os.path.normpath(local)).is_relative_to(root)
