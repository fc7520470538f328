"""Processes and links are killed at random moments: no page is lost or doubled, and training gives the same losses.

Only `make chaos` runs these tests. Each prints the seed of its random moments; CHAOS_SEED sets it. `make test` kills an
ingest and its workers once in `test_ingest.py`, and a worker of a training in `test_train_objects.py`.
"""

import itertools
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pytest

from layoutray.cluster.ingest import plan_ingest
from layoutray.inference.extractor import Extractor
from layoutray.prepare.manifest import Manifest
from layoutray.prepare.output import Output
from layoutray.recipe import recipes
from layoutray.recipe.ingest import load_ingest
from layoutray.store import codec, shards
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.store.schema import ANSWERS, FIELDS
from layoutray.tracking import metric_names, runs
from layoutray.training import job as jobs
from layoutray.training.job import Job
from layoutray.training.reporter import HISTORY
from tests.cluster.checkpoints import save_untrained
from tests.cluster.test_ingest import BAD, checked, page_ids
from tests.cluster.two_hosts import two_hosts
from tests.cluster.two_nodes import Kill, TwoNodes, two_nodes
from tests.jobs import encode, pages, recipe, recipe_file, write_pages
from tests.mlflow_store import new_store
from tests.training.runs import alone, read_history

pytestmark = pytest.mark.ray
Nodes = Callable[[Mapping[str, str]], AbstractContextManager[TwoNodes]]
BLOCK, WORKERS = 8, 2
READERS, TRAINERS = ["driver", "PageWorker", "raylet", "layoutray.ocr.child"], ["driver", "RayTrainWorker", "raylet"]
REDONE = {
    "driver": WORKERS * BLOCK,
    "raylet": WORKERS * BLOCK,
    "link": 2 * WORKERS * BLOCK,
    "PageWorker": BLOCK,
    "layoutray.ocr.child": 1,
}
"""Pages that may be read again after a kill: a block for each stopped worker.

After the loss of a link, also the block that each worker behind the link is reading.
"""
SMALL = [
    "--set",
    "recognition.pytesseract.preprocessing.width=400",
    "--set",
    "recognition.engine=pytesseract",
    "--set",
    "recognition.orientation=upright",
]


def drawn(victims: Sequence[str], last: int, random: Random) -> list[Kill]:
    """A kill of each, at random moments before `last` and in any order."""
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
    sys.stdout.write(f"CHAOS_SEED={seed}\n")
    random = Random(seed)
    chosen = list(victims)
    random.shuffle(chosen)
    moments = sorted(random.sample(range(1, last), len(chosen)))
    kills = [Kill(at, victim, random.random()) for at, victim in zip(moments, chosen, strict=True)]
    sys.stdout.write("".join(f"{kill}\n" for kill in kills))
    return kills


def fill(folder: Path, data_root: Path, count: int, hostile: int) -> Counter[str]:
    """Real scans, no two files alike, and files that nobody can read; returns what should be said of those."""
    folder.mkdir()
    real = [
        file for name in ("sroie", "funsd", "wildreceipt") for file in sorted((data_root / name).rglob("*.[jp][pn]*g"))
    ]
    for number, file in zip(range(count), itertools.cycle(real)):
        (folder / f"{number:04d}{file.suffix}").write_bytes(file.read_bytes() + f"\n{number}".encode())
    reasons = Counter[str]()
    for number, (name, (data, reason)) in zip(range(hostile), itertools.cycle(BAD.items())):
        (folder / f"{number:04d}-{name}").write_bytes(data + bytes([number]) if data else b"")
        reasons[reason] += 1
    return reasons


def counted_tesseract(folder: Path) -> dict[str, str]:
    """An environment in which each call of the program `tesseract` leaves a line in `folder/calls`."""
    program = folder / "bin/tesseract"
    program.parent.mkdir()
    (folder / "calls").touch()
    line = f'case "$*" in *--version* | *--list-langs*) ;; *) echo >> "{folder}/calls" ;; esac'
    program.write_text(f'#!/bin/sh\n{line}\nexec {shutil.which("tesseract")} "$@"\n')
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(folder)}


@pytest.mark.ocr
@pytest.mark.parametrize(
    ("joined", "files", "victims", "random"),
    [
        pytest.param(two_nodes, (30, 7), READERS[:3], Random(7), id="small", marks=pytest.mark.chaos),
        pytest.param(
            two_nodes,
            (510, 28),
            6 * READERS,
            Random(),
            id="large",
            marks=[pytest.mark.chaos, pytest.mark.timeout(5400)],
        ),
        pytest.param(
            two_hosts, (90, 7), ["link"], Random(), id="hosts", marks=[pytest.mark.chaos, pytest.mark.timeout(900)]
        ),
    ],
)
def test_every_page_is_there_once_whatever_dies(
    joined: Nodes, files: tuple[int, int], victims: Sequence[str], random: Random, data_root: Path, tmp_path: Path
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    expected = fill(source, data_root, *files)
    chosen = drawn(victims, int(0.8 * files[0]), random)
    settings = [*SMALL, "--set", f"pages_per_shard={BLOCK}"]
    command = [
        sys.executable,
        "-m",
        "pipelines.ingest",
        "ingest-folder",
        str(source),
        str(out),
        "--workers",
        str(WORKERS),
        *settings,
    ]

    def calls() -> int:
        return (tmp_path / "calls").stat().st_size

    with joined(counted_tesseract(tmp_path)) as nodes:
        starts = nodes.run_through(command, tmp_path / "log", chosen, calls)
    manifest = checked(Manifest.read(str(out)), out)
    plan = plan_ingest(str(source), load_ingest("ingest-folder", settings[1::2]))
    assert manifest.reasons == expected
    assert {unit.page_id for unit in plan.page_tasks} == set(page_ids(out)) | {
        letter.page_id for letter in Output(str(out)).read_dead_letters()
    } - {""}
    redone = calls() - manifest.pages_out
    sys.stdout.write(f"{starts} starts; {manifest.pages_out} pages; {redone} read again\n")
    assert 0 <= redone <= sum(REDONE[kill.victim] for kill in chosen)
    assert not list(out.rglob(".*")), "nothing half-written is left"


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_examples_are_those_of_an_undisturbed_encode_whatever_dies(tmp_path: Path) -> None:
    made, out, undisturbed = pages(10_000), tmp_path / "killed", tmp_path / "whole"
    folder, file = write_pages(tmp_path / "pages", made), recipe_file(tmp_path, recipe("masked_lm", max_length=24))
    chosen = drawn([*(8 * ["driver"]), "PieceWorker", "raylet"], 36, Random())
    command = [sys.executable, "-m", "pipelines.encode", file, folder, "--workers", "2", "--out"]

    def pieces() -> int:
        return len(list(out.glob("pieces/*.json")))

    with two_nodes({"OMP_NUM_THREADS": "1"}) as nodes:
        starts = nodes.run_through([*command, str(out)], tmp_path / "log", chosen, pieces)
        nodes.run_through([*command, str(undisturbed)], tmp_path / "log", [], pieces)
    sys.stdout.write(f"{starts} starts\n")
    assert starts > 1
    card = Card.read(str(out))
    assert card == Card.read(str(undisturbed))
    assert card.pages["train"] == len(made)
    written = {file.relative_to(out): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    assert written == {file.relative_to(undisturbed): file.read_bytes() for file in undisturbed.rglob("*.*")}


@pytest.mark.parametrize(
    ("pages_made", "victims", "random"),
    [
        pytest.param(200, ["driver", "_AllStages"], Random(5), id="small", marks=pytest.mark.chaos),
        pytest.param(
            1200,
            [*(10 * ["driver"]), "_AllStages", "raylet"],
            Random(),
            id="large",
            marks=[pytest.mark.chaos, pytest.mark.timeout(3600)],
        ),
    ],
)
def test_every_page_is_answered_once_whatever_dies(
    pages_made: int, victims: Sequence[str], random: Random, tmp_path: Path
) -> None:
    ingested, out = DataSet(str(tmp_path / "ingested")), tmp_path / "out"
    made = pages(pages_made)
    for at in range(0, pages_made, 4):
        part = made[at : at + 4]
        table = codec.pages_table(part, [page.source for page in part])
        shards.write(table, ingested.pages, f"part-{at:04d}.parquet")
    save_untrained(tmp_path / "checkpoint", fields={"date": {"many": True}, "total": {}})
    shards.write_bytes(b"{}", ingested.folder, "manifest.json")  # the command takes no folder without one for pages
    command = [sys.executable, "-m", "pipelines.predict", str(tmp_path / "checkpoint"), ingested.folder]
    command += ["--out", str(out), "--workers", "2"]

    def answered() -> int:
        return 4 * len(shards.shards(str(out / "parquet")))

    with two_nodes({"OMP_NUM_THREADS": "1"}) as nodes:
        kills = drawn(victims, int(0.9 * pages_made), random)
        starts = nodes.run_through(command, tmp_path / "log", kills, answered)
    sys.stdout.write(f"{starts} starts\n")
    counts = json.loads((out / "answers.json").read_text())["counts"]
    assert (counts["answered"], counts["failed"]) == (pages_made, 0)
    lines = [json.loads(line) for file in (out / "jsonl").iterdir() for line in file.read_text().splitlines()]
    expected = Extractor.load(tmp_path / "checkpoint").extract(made)
    assert sorted((line["source"], [entity["content"] for entity in line["entities"]]) for line in lines) == sorted(
        (page.source, [entity.content for entity in entities]) for page, entities in zip(made, expected, strict=True)
    )
    table = shards.read(str(out / "parquet"), ANSWERS)
    assert len(table.filter(pc.field("type") != "")) == sum(map(len, expected)) == counts["entities"]
    fields = shards.read(str(out / "fields"), FIELDS)
    with_fields = len(fields["doc_id"].unique())
    assert (len(fields), with_fields) == (counts["fields"], pages_made - counts["without_fields"])
    assert not list(out.rglob(".*")), "nothing half-written is left"
    assert not (out / "grouped").exists()


@pytest.fixture
def job(tmp_path: Path) -> Job:
    chosen = recipe("masked_lm", steps=120, evaluate_every=20, checkpoint_every=4)
    return Job(recipe=chosen, examples=encode(tmp_path, chosen, pages(24, 6)), out=tmp_path / "checkpoint")


def last_saved(checkpoint: Path) -> int:
    """The last step whose state was saved."""
    if not (checkpoint / HISTORY).exists():
        return 0
    rows = [json.loads(line) for line in (checkpoint / HISTORY).read_text().splitlines()]
    return max((row["step"] for row in rows if row["event"] == "saved"), default=0)


@pytest.mark.parametrize(
    ("victims", "random"),
    [
        pytest.param(TRAINERS[:2], Random(3), id="small", marks=pytest.mark.chaos),
        pytest.param(3 * TRAINERS, Random(), id="large", marks=[pytest.mark.chaos, pytest.mark.timeout(3600)]),
    ],
)
def test_a_training_is_the_undisturbed_one_whatever_dies(
    victims: Sequence[str], random: Random, job: Job, tmp_path: Path
) -> None:
    out, store = tmp_path / "killed", new_store(tmp_path)
    chosen = drawn(victims, 100, random)
    file = recipe_file(tmp_path, job.recipe)
    command = [sys.executable, "-m", "pipelines.pretrain", file, job.examples, "--out", str(out)]

    with two_nodes({"OMP_NUM_THREADS": "1"}) as nodes:
        starts = nodes.run_through(
            [*command, "--workers", "1", "--tracking-uri", store], tmp_path / "log", chosen, lambda: last_saved(out)
        )
    sys.stdout.write(f"{starts} starts\n")
    expected = alone(job)
    (run,) = tracked(store)
    assert jobs.finished(Job(recipe=recipes.load(file), examples=job.examples, out=out))
    for name in ("loss", "dev.loss", "learning_rate"):
        logged = run.client.get_metric_history(run.run_id, metric_names.of_training(name))
        history = sorted((metric.step, metric.value) for metric in logged)
        assert history == [(step, pytest.approx(value, abs=1e-5)) for step, value in expected[name]], (
            f"{name}: every step once"
        )


_ELASTIC = """
import sys
from functools import partial
from layoutray.recipe import recipes
from layoutray.cluster.connect import connect
from layoutray.cluster.train import Workers, train
from layoutray.training.inputs import check
from layoutray.training.job import Job
from layoutray.training.reporter import JsonLines, Reporter
file, examples, out, history = sys.argv[1:]
class Heard(Reporter):
    last = 0
    def metrics(self, step, values):
        self.last = step if "loss" in values else self.last
heard = Heard()
with connect():
    checked = check(Job(recipe=recipes.load(file), examples=examples, out=out), 2)
    train(checked, Workers(count=2, least=1, cpus=2), partial(lambda path: [JsonLines(path)], history), heard)
assert heard.last == 120, "the driver no longer hears of steps"
"""
"""Workers of which a node of three cores has room for one."""


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("joined", "lost"), [pytest.param(two_nodes, "node", id="nodes"), pytest.param(two_hosts, "link", id="hosts")]
)
def test_a_training_goes_on_with_fewer_workers_where_a_node_is_lost_for_good(
    joined: Nodes, lost: str, job: Job, tmp_path: Path
) -> None:
    out, met = tmp_path / "killed", False
    command = [
        sys.executable,
        "-c",
        _ELASTIC,
        recipe_file(tmp_path, job.recipe),
        job.examples,
        str(out),
        str(out / HISTORY),
    ]

    def saved_by_two() -> int:
        nonlocal met
        met = met or len(nodes.processes("RayTrainWorker")) == 2
        return last_saved(out) if met else 0

    with joined({"OMP_NUM_THREADS": "1", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "10"}) as nodes:
        starts = nodes.run_through(command, tmp_path / "log", [Kill(40, lost, 0.0)], saved_by_two)
    assert starts == 1, "the driver has not noticed"
    expected, found = alone(job), read_history(out / HISTORY)
    for name in ("loss", "dev.loss"):
        assert found[name] == [(step, pytest.approx(value, abs=1e-5)) for step, value in expected[name]], (
            f"{name}: every step once"
        )


def tracked(store: str) -> list[runs.Run]:
    """The runs in a store."""
    client = runs.Run(store, "").client
    experiments = [one.experiment_id for one in client.search_experiments()]
    return [runs.Run(store, run.info.run_id) for run in client.search_runs(experiments)]
