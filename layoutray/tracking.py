"""Runs in MLflow: what went in, what was measured, what came out. The only module that knows MLflow.

A run is opened once, in the driver; workers get its id, so that a recovered worker goes on in the same run.
"""

import fcntl
import json
import os
import tempfile
import time
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.artifacts import download_artifacts
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.store import shards, sources
from layoutray.store.card import Card

ALIAS = "champion"
"""Alias that a newly registered version gets: what `models:/NAME@champion` serves."""

_CHECKPOINT = "checkpoint"
_NOTE = "mlflow_run.json"
"""Beside a checkpoint: which run it belongs to."""
_CLAIM = "layoutray.claim"
"""Tag of a run, and until its id is noted key of the note: what finds a run whose opening was killed."""
_FLUSH_SECONDS = 2.0
_MAX_BATCH = 1000  # what one log_batch call may carry


def default_uri() -> str:
    """`MLFLOW_TRACKING_URI` where set, else a SQLite file in the working folder, as an absolute path."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path.cwd() / 'mlflow.db'}"


@dataclass(frozen=True)
class Run:
    """One MLflow run, open for writing from any process that has its tracking URI and id."""

    uri: str
    run_id: str

    @property
    def client(self) -> MlflowClient:
        return MlflowClient(tracking_uri=self.uri)

    def log_dataset(self, folder: str, card: Card, context: str) -> None:
        """Note which data set went in: its place, its counts and the digest of its content."""
        source = folder if "://" in folder else str(Path(folder).absolute())
        kind = source.partition("://")[0] if "://" in source else "local"
        profile = json.dumps({"pages": card.pages, "examples": card.examples})
        dataset = Dataset(Path(folder).name, card.digest, kind, json.dumps({"uri": source}), profile=profile)
        inputs = [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])]
        try:
            self.client.log_inputs(self.run_id, inputs)
        except MlflowException:
            # Of runs that bring the same new data set at once, all but one are refused; then it is there for them to refer to.
            self.client.log_inputs(self.run_id, inputs)

    def log_metrics(self, step: int, values: Mapping[str, float]) -> None:
        self.client.log_batch(self.run_id, metrics=[_metric(name, value, step) for name, value in values.items()])

    def log_picture(self, name: str, png: bytes) -> None:
        """Store PNG bytes as `pictures/NAME.png`."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.png"
            file.write_bytes(png)
            self.client.log_artifact(self.run_id, str(file), "pictures")

    def log_checkpoint(self, folder: str | Path) -> None:
        """Store a checkpoint as the run's artifact `checkpoint`, without the states and logs that training leaves beside it."""
        with checkpoint.local_copy(folder) as where:
            for name in checkpoint.FILES:
                if (where / name).is_file():
                    self.client.log_artifact(self.run_id, str(where / name), _CHECKPOINT)
        note_file = sources.join(folder, _NOTE)
        if sources.exists(note_file):
            self.client.log_text(self.run_id, sources.read_bytes(note_file).decode(), f"{_CHECKPOINT}/{_NOTE}")

    def register(self, name: str) -> str:
        """Make the logged checkpoint the next version of model `name`, with the alias `champion`; returns its version."""
        client = self.client
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        artifacts = client.get_run(self.run_id).info.artifact_uri
        version = client.create_model_version(name, f"{artifacts}/{_CHECKPOINT}", self.run_id).version
        client.set_registered_model_alias(name, ALIAS, version)
        return str(version)

    def note(self, folder: str | Path) -> None:
        """Write down in a checkpoint folder which run it belongs to, without any password."""
        _write_note(folder, {"uri": _without_password(self.uri), "run_id": self.run_id})

    @property
    def finished(self) -> bool:
        """Whether the run was closed, and closed well."""
        return self.client.get_run(self.run_id).info.status == "FINISHED"

    def is_registered(self, name: str) -> bool:
        """Whether a version of model `name` came from this run."""
        return any(version.name == name for version in self.client.search_model_versions(f"run_id='{self.run_id}'"))

    def reopen(self) -> None:
        """Go on in a run that was interrupted."""
        self.client.update_run(self.run_id, status="RUNNING")

    def finish(self, status: str = "FINISHED") -> None:
        """Close the run: FINISHED, FAILED or KILLED."""
        self.client.set_terminated(self.run_id, status)


def create_run(
    uri: str,
    experiment: str,
    name: str,
    parameters: Mapping[str, Any],
    tags: Mapping[str, str],
    parent: Run | None = None,
) -> Run:
    """Open a run with the resolved recipe as its parameters, nested keys joined by dots; MLflow shows it under `parent`."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = _absolute(uri)
    with _alone(uri):
        client = MlflowClient(tracking_uri=uri)
        known = client.get_experiment_by_name(experiment)
        experiment_id = (
            known.experiment_id if known else client.create_experiment(experiment, artifact_location=_artifacts(uri))
        )
    nested = {"mlflow.parentRunId": parent.run_id} if parent else {}
    run_id = client.create_run(experiment_id, run_name=name, tags={**tags, **nested}).info.run_id
    client.log_batch(run_id, params=[Param(key, str(value)) for key, value in _flatten(parameters).items()])
    return Run(uri, run_id)


def claim(folder: str | Path, uri: str) -> dict[str, str]:
    """Tags for the run that is about to be opened for a checkpoint folder, written down there until `Run.note` takes their place.

    Who is killed in between leaves an empty run that no folder knows; the next claim finds it by these tags, and deletes it.
    """
    if key := _read_note(folder).get(_CLAIM):
        with _alone(_absolute(uri)):
            client = MlflowClient(tracking_uri=uri)
            experiments = [known.experiment_id for known in client.search_experiments()]
        for left in client.search_runs(experiments, f"tags.`{_CLAIM}` = '{key}'"):
            client.delete_run(left.info.run_id)
    else:
        key = uuid.uuid4().hex
        _write_note(folder, {_CLAIM: key})
    return {_CLAIM: key}


def noted(folder: str | Path, uri: str) -> Run | None:
    """The run that `Run.note` has written down in a checkpoint folder; None where it has not.

    Args:
        uri: reaches the server; used, with its password, when it is the noted one.

    Raises:
        InputError: when the server does not know the run.
    """
    note = _read_note(folder)
    if "run_id" not in note:
        return None
    run = Run(_absolute(uri) if _without_password(_absolute(uri)) == note["uri"] else note["uri"], note["run_id"])
    try:
        run.client.get_run(run.run_id)
    except MlflowException as error:  # its text may hold a password
        raise InputError(
            f"MLflow at {_without_password(run.uri)} does not know run {run.run_id}: {error.error_code}; "
            f"delete {sources.join(folder, _NOTE)} if it is gone for good"
        ) from None
    return run


class MlflowReporter:
    """Sends training's metrics to a run, a batch every two seconds; a step that the run already has is not sent again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._client = run.client
        self._waiting: list[Metric] = []
        self._last: dict[str, int] = {}
        self._flushed = time.monotonic()

    def start(self, step: int, steps: int) -> None:
        """Look up what the run has: after a recovery some steps are trained again, and are already there."""
        for name in self._client.get_run(self._run.run_id).data.metrics:
            history = self._client.get_metric_history(self._run.run_id, name)
            self._last[name] = max(metric.step for metric in history)

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._waiting += [
            _metric(name, value, step) for name, value in values.items() if step > self._last.get(name, -1)
        ]
        if time.monotonic() - self._flushed > _FLUSH_SECONDS or len(self._waiting) >= _MAX_BATCH:
            self.flush()

    def saved(self, step: int, folder: Path | None, values: Mapping[str, float]) -> None:
        """What lies before a saved state is never trained again, so it has to be in the run by now."""
        self.flush()

    def flush(self) -> None:
        """Send what is waiting."""
        for at in range(0, len(self._waiting), _MAX_BATCH):
            self._client.log_batch(self._run.run_id, metrics=self._waiting[at : at + _MAX_BATCH])
        self._waiting.clear()
        self._flushed = time.monotonic()


def checkpoint_folder(model: str, uri: str) -> tuple[str, str]:
    """The checkpoint folder that `model` names, as an absolute path or address, and the model version for answers (empty for a folder).

    Args:
        model: a folder or its `s3://` address, or `models:/NAME@ALIAS` or `models:/NAME/VERSION` of the registry at `uri`.

    Raises:
        InputError: when the registry does not have it.
    """
    if not model.startswith("models:/"):
        return sources.absolute(model), ""
    client = MlflowClient(tracking_uri=uri)
    name, at, alias = model.removeprefix("models:/").partition("@")
    try:
        if at:
            version = client.get_model_version_by_alias(name, alias)
        else:
            name, _, number = name.partition("/")
            version = client.get_model_version(name, number)
        return download_artifacts(version.source, tracking_uri=uri), str(version.version)
    except MlflowException as error:
        raise InputError(f"MLflow at {_without_password(uri)} does not hand out {model}: {error.error_code}") from None


def _read_note(folder: str | Path) -> dict[str, str]:
    note_file = sources.join(folder, _NOTE)
    return json.loads(sources.read_bytes(note_file)) if sources.exists(note_file) else {}


def _write_note(folder: str | Path, content: Mapping[str, str]) -> None:
    shards.write_bytes(json.dumps(content).encode(), str(folder), _NOTE)


def _metric(name: str, value: float, step: int) -> Metric:
    return Metric(name, value, int(time.time() * 1000), step)


def _absolute(uri: str) -> str:
    """A relative SQLite file is another one in every working folder; workers have their own."""
    return f"sqlite:///{Path(uri.removeprefix('sqlite:///')).absolute()}" if uri.startswith("sqlite:///") else uri


@contextmanager
def _alone(uri: str) -> Generator[None]:
    """No other process in here for the same SQLite file: two that make its tables at once break it, and MLflow does not see to it."""
    if not uri.startswith("sqlite:///"):
        yield
        return
    folder = os.open(Path(uri.removeprefix("sqlite:///")).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # on the folder, so that no lock file is left behind
        yield
    finally:
        os.close(folder)


def _artifacts(uri: str) -> str | None:
    """A server decides where artifacts lie; beside a local SQLite file they lie in its folder, whoever's working folder it is."""
    return (
        (Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts").as_uri() if uri.startswith("sqlite:///") else None
    )


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat


def _without_password(uri: str) -> str:
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
