"""Pipes and devices in place of files."""

import os
from pathlib import Path

import pytest

from layoutray.errors import DocumentError, Reason
from layoutray.store import sources


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_device_is_not_opened(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    with pytest.raises(DocumentError, match="is not a regular file") as caught:
        sources.read_bytes(str(file))
    assert caught.value.reason is Reason.UNREADABLE
