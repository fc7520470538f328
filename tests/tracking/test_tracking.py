"""MLflow as it is: a SQLite file, and a server."""

import dataclasses
import json
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from mlflow.tracking import MlflowClient

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.metrics.calibration import Bin
from layoutray.report import png
from layoutray.report.reliability import reliability
from layoutray.store.card import Card
from layoutray.tracking import registered, runs, stores
from layoutray.tracking.opening import DataUsed
from layoutray.tracking.reporter import MlflowReporter
from layoutray.tracking.runs import Run
from tests.jobs import recipe, vocabulary
from tests.mlflow_server import server  # noqa: F401  (a fixture)
from tests.mlflow_store import new_store
from tests.store.test_sources import server as s3  # noqa: F401  (a fixture)

CARD = Card(
    task="entities",
    max_length=64,
    labels=("O", "B-a", "I-a"),
    sources=("pages",),
    pages={"train": 4},
    examples={"train": 9},
    dead=1,
    digest="d16e57",
)
PICTURE = png.png(reliability({"drawn": [Bin(4, 0.9, 0.75)]}))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A SQLite file."""
    return new_store(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAYOUTRAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["file", "server"])
def uri(request: pytest.FixtureRequest) -> str:
    """Both kinds of place that runs go to."""
    return request.getfixturevalue(request.param)


def opened(uri: str, experiment: str = "tests") -> Run:
    return runs.create_run(uri, experiment, "small", recipe("entities").to_dict(), {"arch": "skimformer"})


def history(run: Run, name: str) -> list[tuple[int, float]]:
    return sorted((metric.step, metric.value) for metric in run.client.get_metric_history(run.run_id, name))


def examples(folder: Path) -> DataUsed:
    return DataUsed(
        title="forms",
        digest=CARD.digest,
        folder=str(folder / "examples"),
        context="training",
        counts={"pages": CARD.pages},
    )


def saved(folder: Path) -> Path:
    chosen = recipe("entities")
    model = checkpoint.build_model(chosen, vocabulary(), CARD.labels)
    checkpoint.save(
        folder,
        Checkpoint(
            recipe=chosen, labels=CARD.labels, tokenizer=vocabulary(), model=model, metrics={"step": 3.0}, provenance={}
        ),
    )
    return folder


def test_a_long_list_of_the_owners_values_is_logged_as_their_number(uri: str) -> None:
    known = {"known_values": [f"vendor {number}" for number in range(1000)], "prefixes": ["B", "I"]}
    run = runs.create_run(uri, "tests", "small", {"task": {"fields": {"vendor": known}}}, {})
    params = run.client.get_run(run.run_id).data.params
    assert params["task.fields.vendor.known_values"] == "1000 values"
    assert params["task.fields.vendor.prefixes"] == "['B', 'I']"


def test_a_run_has_recipe_data_set_metrics_and_pictures(uri: str, tmp_path: Path) -> None:
    run = opened(uri)
    run.log_data(examples(tmp_path))
    run.log_metrics(7, {"test.f1": 0.5})
    run.log_picture("drawn", PICTURE)
    run.finish()
    kept = run.client.get_run(run.run_id)
    assert kept.info.status == "FINISHED"
    assert (kept.data.params["train.steps"], kept.data.params["model.hidden"], kept.data.params["task.name"]) == (
        "20",
        "32",
        "entities",
    )
    assert kept.data.tags["arch"] == "skimformer"
    (given,) = kept.inputs.dataset_inputs
    assert (given.dataset.name, given.dataset.digest, given.dataset.source_type) == ("forms", "d16e57", "local")
    assert json.loads(given.dataset.source) == {"uri": str(tmp_path / "examples")}
    assert json.loads(given.dataset.profile) == {"pages": {"train": 4}}
    assert history(run, "test.f1") == [(7, 0.5)]
    assert Path(run.client.download_artifacts(run.run_id, "pictures/drawn.png")).read_bytes() == PICTURE
    shown = [file.path for file in run.client.list_artifacts(run.run_id, "images")]
    assert any(path.startswith("images/pictures~drawn+") for path in shown), "among the charts"


def test_runs_that_bring_the_same_new_data_set_at_once_all_have_it(uri: str, tmp_path: Path) -> None:
    runs = [opened(uri) for _ in range(6)]
    for digest in ("first", "second", "third"):
        used = dataclasses.replace(examples(tmp_path), digest=digest)
        together = threading.Barrier(len(runs))

        def note(run: Run, used: DataUsed = used, together: threading.Barrier = together) -> None:
            together.wait()
            run.log_data(used)

        with ThreadPoolExecutor(len(runs)) as pool:
            list(pool.map(note, runs))
    for run in runs:
        noted = run.client.get_run(run.run_id).inputs.dataset_inputs
        assert {given.dataset.digest for given in noted} == {"first", "second", "third"}


def test_a_second_reporter_on_the_run_logs_no_step_twice(uri: str) -> None:
    run = opened(uri)
    first = MlflowReporter(run)
    first.start(0, 10)
    for step in range(1, 7):
        first.metrics(step, {"loss": step / 10})
    first.metrics(4, {"dev.loss": 0.4})
    first.saved(6, None)
    again = MlflowReporter(run)
    again.start(4, 10)
    for step in range(5, 11):
        again.metrics(step, {"loss": step / 10, **({"dev.loss": 0.8} if step == 8 else {})})
    again.saved(10, None)
    assert history(run, "train/loss") == [(step, step / 10) for step in range(1, 11)]
    assert history(run, "dev/loss") == [(4, 0.4), (8, 0.8)]


def test_more_metrics_than_one_call_may_carry_all_arrive(file: str) -> None:
    run = opened(file)
    reporter = MlflowReporter(run)
    for step in range(1, 1201):
        reporter.metrics(step, {"loss": 1.0, "rate": 0.5})
    reporter.flush()
    for name in ("train/loss", "train/rate"):
        assert [step for step, _ in history(run, name)] == list(range(1, 1201))


def test_a_registered_checkpoint_comes_back_by_alias_and_by_version(uri: str, tmp_path: Path) -> None:
    run = opened(uri)
    folder = saved(tmp_path / "checkpoint")
    (folder / "state").mkdir()
    (folder / "state" / "optimizer-3.safetensors").write_bytes(b"large")
    run.note(folder)
    run.log_checkpoint(folder)
    assert not run.is_registered("small")
    assert [run.register("small"), run.register("small")] == ["1", "2"]
    assert run.is_registered("small")
    for name, version in (("models:/small@champion", "1"), ("models:/small@candidate", "2"), ("models:/small/1", "1")):
        local, found = registered.checkpoint_folder(name, uri)
        assert found == version
        assert checkpoint.load(local).version == checkpoint.load(folder).version
        assert not Path(local, "state").exists(), "what resuming needs stays at home"
        noted = runs.noted(local, uri)
        assert noted is not None
        assert noted.run_id == run.run_id


def test_a_registered_model_has_the_same_folder_every_time(
    uri: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))  # other tests use the system's meanwhile
    run = opened(uri)
    run.log_checkpoint(saved(tmp_path / "checkpoint"))
    number = run.register("stable")
    before = set(Path(tempfile.gettempdir()).iterdir())
    folders = {registered.checkpoint_folder(f"models:/stable{which}", uri)[0] for which in ("@champion", f"/{number}")}
    folders |= {registered.checkpoint_folder("models:/stable@champion", uri)[0]}
    (folder,) = folders
    assert {path.name for path in Path(folder).iterdir()} >= {*checkpoint.FILES, "MLmodel"}
    assert {path for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith("tmp")} <= before
    if uri.startswith("sqlite"):
        stored = Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts"
        assert Path(folder).is_relative_to(stored), "where MLflow stores it, which every node with that disk reaches"
        assert not cache.exists()
    else:
        (copy,) = (cache / "models").iterdir()
        assert folder == str(copy)


@pytest.mark.usefixtures("s3")
def test_a_registered_model_in_a_bucket_is_read_from_there(file: str, tmp_path: Path, cache: Path) -> None:
    run = opened(file)
    saved(tmp_path / "checkpoint")
    pafs.copy_files(str(tmp_path / "checkpoint"), "s3://scans/registered")
    run.client.create_registered_model("bucket")
    version = run.client.create_model_version("bucket", "s3://scans/registered", run.run_id).version
    folder, number = registered.checkpoint_folder(f"models:/bucket/{version}", file)
    assert (folder, number) == ("s3://scans/registered", str(version))
    assert checkpoint.load(folder).version == checkpoint.load(tmp_path / "checkpoint").version
    assert not cache.exists()


def test_a_plain_folder_is_itself() -> None:
    assert registered.checkpoint_folder("some/folder", "sqlite:///nowhere/at/all.db") == (
        str(Path("some/folder").absolute()),
        "",
    )


@pytest.mark.usefixtures("s3")
def test_a_checkpoint_in_a_bucket_knows_its_run(file: str, tmp_path: Path) -> None:
    run = opened(file)
    run.note(saved(tmp_path / "checkpoint"))
    pafs.copy_files(str(tmp_path / "checkpoint"), "s3://scans/known")
    folder, version = registered.checkpoint_folder("s3://scans/known", file)
    assert (folder, version) == ("s3://scans/known", "")
    assert checkpoint.load(folder).version == checkpoint.load(tmp_path / "checkpoint").version
    assert runs.noted(folder, file) == run
    assert runs.noted("s3://scans/unknown", file) is None


@pytest.mark.parametrize("model", ["models:/nothing@champion", "models:/nothing/1", "models:/nothing", "models:/"])
def test_an_unknown_model_is_refused_by_name(model: str, uri: str) -> None:
    with pytest.raises(InputError, match=f"cannot provide {model}: "):
        registered.checkpoint_folder(model, uri)


def test_an_unknown_run_is_refused(uri: str, tmp_path: Path) -> None:
    Run(uri, "0123456789abcdef0123456789abcdef").note(tmp_path)
    with pytest.raises(InputError, match=r"does not know run 0123456789abcdef.*delete .*mlflow_run\.json"):
        runs.noted(tmp_path, uri)


def test_a_run_can_be_gone_on_in_after_its_end(uri: str) -> None:
    run = opened(uri)
    assert not run.finished
    run.finish()
    assert run.finished
    run.reopen()
    assert not run.finished


@pytest.mark.parametrize("uri", ["server"], indirect=True)
def test_a_password_is_in_no_message_and_in_no_note(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = uri.replace("://", "://someone:s3cret@")
    with pytest.raises(InputError) as caught:
        registered.checkpoint_folder("models:/nothing@champion", secret)
    unknown = str(caught.value)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(InputError) as caught:
        registered.checkpoint_folder("models:/nothing@champion", "http://someone:s3cret@127.0.0.1:9")
    assert "s3cret" not in unknown + str(caught.value)
    assert uri.removeprefix("http://") in unknown
    run = opened(secret)
    run.note(tmp_path)
    assert "s3cret" not in (tmp_path / "mlflow_run.json").read_text() + run.address
    assert run.address.startswith(f"{uri}/#/experiments/"), "its page"
    assert runs.noted(tmp_path, secret) == run


def test_a_relative_sqlite_file_is_the_same_one_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_store(tmp_path)
    monkeypatch.chdir(tmp_path)
    run = opened("sqlite:///mlflow.db")
    run.log_picture("drawn", PICTURE)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run.log_metrics(1, {"loss": 1.0})
    assert history(run, "loss") == [(1, 1.0)]
    assert list((tmp_path / "mlartifacts").rglob("pictures/drawn.png"))


def test_the_default_place_is_the_environments_or_a_file_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert stores.default_uri() == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow:5000")
    assert stores.default_uri() == "http://mlflow:5000"


def test_a_folder_without_a_note_belongs_to_no_run(tmp_path: Path) -> None:
    assert runs.noted(tmp_path, "sqlite:///nowhere.db") is None


def test_a_run_that_was_claimed_and_never_noted_is_deleted_by_the_next_claim(uri: str, tmp_path: Path) -> None:
    def claimed(folder: str, experiment: str) -> Run:
        return runs.create_run(uri, experiment, "claimed", {}, runs.claim(tmp_path / folder, uri))

    other, lost, kept = claimed("other", "tests"), claimed("mine", "tests"), claimed("mine", "elsewhere")
    assert runs.noted(tmp_path / "mine", uri) is None
    stages = [run.client.get_run(run.run_id).info.lifecycle_stage for run in (other, lost, kept)]
    assert stages == ["active", "deleted", "active"]
    kept.note(tmp_path / "mine")
    assert runs.noted(tmp_path / "mine", uri) == kept


def test_a_run_may_be_a_part_of_another(uri: str) -> None:
    whole = opened(uri)
    part = runs.create_run(uri, "tests", "part", {}, {"arch": "skimformer"}, whole)
    tags = part.client.get_run(part.run_id).data.tags
    assert (tags["mlflow.parentRunId"], tags["arch"]) == (whole.run_id, "skimformer")
    assert "mlflow.parentRunId" not in whole.client.get_run(whole.run_id).data.tags


def test_an_experiment_is_shared_by_its_runs(file: str) -> None:
    runs = [opened(file, "shared"), opened(file, "shared")]
    client = MlflowClient(tracking_uri=file)
    assert len({client.get_run(run.run_id).info.experiment_id for run in runs}) == 1
