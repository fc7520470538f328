"""One command at a time works on an output folder; the lock ends with its process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from layoutray.errors import InputError
from layoutray.store import node_cache
from layoutray.store.output_lock import working_on

_HOLDS = """
import sys, time
from layoutray.store.output_lock import working_on
with working_on(sys.argv[1]):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("place", ["folder", "s3://bucket/out"])
def test_a_second_command_is_refused_until_the_first_process_is_gone(place: str, tmp_path: Path) -> None:
    out = place if "://" in place else str(tmp_path / place)
    with subprocess.Popen([sys.executable, "-c", _HOLDS, out], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout
        assert first.stdout.readline() == "locked\n"
        told = rf"another command is working on .*process {first.pid}\); wait until"
        with pytest.raises(InputError, match=told), working_on(out):
            raise AssertionError("the lock is not held")
        with working_on(f"{out}-other"):
            pass
        first.send_signal(signal.SIGKILL)
        first.wait()
        with working_on(out):
            pass
    assert not os.listdir(node_cache.root() / "locks")
    assert not os.listdir(tmp_path), "a lock writes nothing into the folder"


def test_links_and_dots_do_not_hide_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path)
    other = working_on(str(tmp_path / "link/../link/out"))
    with working_on("real/out"), pytest.raises(InputError, match="another command is working"), other:
        pass
