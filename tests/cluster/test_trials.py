"""Trials on a real Ray: each works in a process of its own, and what happens to one is no matter to the others."""

import os
import signal
from pathlib import Path

import pytest
import torch

from layoutray.cluster.trials import Share, run_each
from layoutray.errors import InputError


def work(name: str, device: torch.device) -> None:
    """Notes the process of the trial, unless it fails."""
    folder, _, which = name.rpartition("/")
    if which == "raises":
        raise InputError("two is a bad\nnumber")
    if which == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    Path(folder, which).write_text(f"{os.getpid()} {torch.get_num_threads()} {device}")


@pytest.mark.ray
@pytest.mark.usefixtures("cluster_to_harm")
def test_failed_trials_are_kept_and_the_others_work_in_a_process_each(tmp_path: Path) -> None:
    names, heard = [f"{tmp_path}/{which}" for which in ("raises", "dies", "first", "second")], list[str]()
    ended = run_each(names, work, Share(threads=3), heard.append)
    raised, killed, *worked = [ended[name] for name in names]
    assert (raised.seconds, raised.error) == (None, "InputError: two is a bad")
    assert "in work" in raised.trace
    assert killed.seconds is None
    assert killed.error.startswith("WorkerCrashedError: ")
    assert all(one.error == "" and one.seconds is not None and one.seconds >= 0 for one in worked)
    notes = [(tmp_path / which).read_text().split() for which in ("first", "second")]
    assert len({process for process, *_ in notes}) == 2
    assert [rest for _, *rest in notes] == [["3", "cpu"]] * 2
    assert sorted(heard) == sorted(names)


def die_once(name: str, device: torch.device) -> None:
    """Is killed by its first call."""
    if not Path(name).exists():
        Path(name).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    Path(name).write_text("again")


@pytest.mark.ray
@pytest.mark.usefixtures("cluster_to_harm")
def test_a_lost_process_is_replaced_as_often_as_stated(tmp_path: Path) -> None:
    name = f"{tmp_path}/lost"
    (ended,) = run_each([name], die_once, Share(max_failures=1), lambda name: None).values()
    assert ended.error == ""
    assert Path(name).read_text() == "again"


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_a_trial_that_no_node_has_room_for_is_refused_before_any_starts() -> None:
    heard = list[str]()
    with pytest.raises(InputError, match="a trial asks for 64 CPU, this cluster has 4"):
        run_each(["one", "two"], work, Share(cpus=64), heard.append)
    assert heard == []


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ({"at_once": -1}, "at_once is -1; it must be at least 0"),
        ({"cpus": 0}, "cpus is 0; it must be above 0"),
        ({"gpus": -1}, "gpus is -1; it must be at least 0"),
        ({"threads": 0}, "threads is 0; it must be at least 1"),
        ({"max_failures": -1}, "max_failures is -1; it must be at least 0"),
    ],
)
def test_an_impossible_share_is_refused(share: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Share(**share)
