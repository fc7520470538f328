"""What a node's metrics port says, on a real Ray: the dashboard draws nothing else of ours."""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import ray

from layoutray.cluster import train as on_ray
from layoutray.cluster.ingest import ingest
from layoutray.cluster.meters import IngestMeter, TrainingMeter
from layoutray.cluster.train import Workers
from layoutray.recipe.ingest import IngestRecipe
from layoutray.training.inputs import check
from tests.cluster.test_ingest import annotate
from tests.jobs import job, recipe
from tests.metered import exported_by, series
from tests.readers.native import put_picture
from tests.training.runs import History

pytestmark = pytest.mark.ray
_REPORTED = 5.0
"""Seconds after which all processes of the shared Ray have reported what they counted before."""


@pytest.fixture(scope="module")
def port(cluster: None) -> str:
    (node,) = ray.nodes()
    return f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"


def values(port: str) -> dict[str, float]:
    """Each of our series with those labels that are ours, and its value."""
    page = httpx.get(port, timeout=60).text
    lines = (line.rpartition(" ") for line in page.splitlines() if line.startswith("ray_layoutray"))
    return {_short(name): float(value) for name, _, value in lines}


def _short(name: str) -> str:
    metric, _, labels = name.partition("{")
    ours = [label for label in labels.rstrip("}").split(",") if label.startswith(("reason=", "recipe="))]
    return " ".join([metric, *ours])


def wait_until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not there() and time.monotonic() < deadline:
        time.sleep(0.5)


def test_an_ingest_counts_its_pages_and_dead_letters(port: str, tmp_path: Path) -> None:
    forms = tmp_path / "in"
    for name in ("1", "2", "3"):
        put_picture(forms / f"training_data/images/{name}.png", height=100 + int(name))
        annotate(forms / f"training_data/annotations/{name}.json", "question", "Name:")
    (forms / "training_data/annotations/3.json").write_text("{")
    time.sleep(_REPORTED)
    before = values(port)
    manifest = ingest(str(forms), str(tmp_path / "out"), IngestRecipe(reader="funsd", words="annotation"))
    ((reason, count),) = manifest.reasons.items()
    expected = {
        "ray_layoutray_ingest_pages_total": manifest.pages_out,
        f'ray_layoutray_ingest_dead_letters_total reason="{reason}"': count,
        "ray_layoutray_ingest_pages_waiting": 0,
    }

    def since() -> dict[str, float]:
        now = values(port)
        gains = {name: now[name] - before.get(name, 0) for name in now if "_total" in name}
        return {name: gain for name, gain in gains.items() if gain} | {
            name: now[name] for name in now if "waiting" in name
        }

    wait_until(lambda: since() == expected)
    assert since() == expected
    assert set(exported_by(IngestMeter())) <= series(httpx.get(port, timeout=60).text).keys()


@dataclass
class Pause:
    """Keeps the leading worker alive after its last step until somebody has looked."""

    last: int

    def start(self, step: int, steps: int) -> None:
        """It is not yet time."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        if step == self.last:
            time.sleep(5)

    def saved(self, step: int, folder: Path | None) -> None:
        """States do not matter."""


def pauses(last: int) -> list[Pause]:
    return [Pause(last)]


class Looks(History):
    """Reads the metrics port once it hears of a training."""

    def __init__(self, port: str) -> None:
        super().__init__()
        self._port = port
        self.seen: dict[str, float] = {}

    def start(self, step: int, steps: int) -> None:
        wait_until(lambda: bool(self._ours()))
        self.seen = self._ours()

    def _ours(self) -> dict[str, float]:
        return {name: value for name, value in values(self._port).items() if 'recipe="metered"' in name}


@pytest.mark.slow
def test_a_training_says_how_fast_it_is(port: str, tmp_path: Path) -> None:
    one = job(tmp_path, dataclasses.replace(recipe("masked_lm", steps=6), name="metered"))
    looks = Looks(port)
    on_ray.train(check(one, 1), Workers(count=1), functools.partial(pauses, 6), looks)
    assert looks.seen.keys() == {f'{name} recipe="metered"' for name in exported_by(TrainingMeter("any"))}
    assert looks.seen['ray_layoutray_training_tokens_per_second recipe="metered"'] > 0
