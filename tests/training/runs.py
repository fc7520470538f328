"""Run jobs in this process, in several, or under torchrun, and keep what they report."""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from layoutray.store import sources
from layoutray.training import world as worlds
from layoutray.training.inputs import prepare
from layoutray.training.job import Job
from layoutray.training.reporter import CompositeReporter, Reporter
from layoutray.training.train import train
from tests import fork_server
from tests.cluster.shared_ray import free_port
from tests.training.worker import work

Series = dict[str, list[tuple[int, float]]]


@dataclass
class History(Reporter):
    """Keeps all metrics in memory: (step, value) by metric."""

    series: Series = field(default_factory=dict)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.series.setdefault(name, []).append((step, value))


def alone(job: Job, *, resume_from: Path | None = None, also: Reporter | None = None) -> Series:
    """Train in this process, on one CPU thread; what was reported, by metric."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    history = History()
    try:
        reporter = CompositeReporter([history, also] if also else [history])
        train(prepare(job, 1), worlds.single_process(), reporter, job.out / "state", resume_from)
    except Stopped:
        pass
    finally:
        torch.set_num_threads(threads)
    return history.series


def in_processes(job: Job, processes: int, seconds: float = 120) -> Series:
    """Train in so many processes that meet through gloo; what the first reported, by metric."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(processes)}
    started = [
        fork_server.start(work, *_arguments(job), environment=place | {"RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(processes)
    ]
    assert [fork_server.exit_code(process, seconds) for process in started] == [0] * processes
    return read_history(job.out / "history.jsonl")


def under_torchrun(job: Job, processes: int) -> Series:
    """The same, where torchrun starts the processes."""
    launch = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={processes}",
        "-m",
        "tests.training.worker",
    ]
    repository = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [*launch, *_arguments(job)], cwd=repository, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return read_history(job.out / "history.jsonl")


def _arguments(job: Job) -> list[str]:
    return [job.examples, str(job.out), json.dumps(job.recipe.to_dict())]


def read_history(file: str | Path) -> Series:
    """What JsonLines has written, by metric; every report counts."""
    series: Series = {}
    for line in sources.read_bytes(str(file)).splitlines():
        row = json.loads(line)
        if row.pop("event") == "metrics":
            step = row.pop("step")
            for name, value in row.items():
                series.setdefault(name, []).append((step, float(value)))
    return series


class Stopped(Exception):  # noqa: N818
    """Raised by `StopAfter`."""


@dataclass
class StopAfter:
    """Ends training from outside after so many steps, like a killed process."""

    step: int

    def start(self, step: int, steps: int) -> None:
        """Nothing to stop yet."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if step == self.step:
            raise Stopped

    def saved(self, step: int, folder: Path | None) -> None:
        """States may be saved."""
