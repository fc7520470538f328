"""A disk that is really full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class SmallDisk:
    """A file system of its own, of 4 MiB."""

    folder: Path

    def fill(self) -> None:
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            for size in (2**16, 2**12, 1):
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError:
                    continue

    def make_room(self) -> None:
        (self.folder / "filler").unlink()


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A disk that is mounted at `folder`; skips the test where none can be."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
