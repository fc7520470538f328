"""Runs in MLflow.

The driver opens a run once; workers get its id, so that a recovered worker continues the same run.
"""

import io
import json
import os
import tempfile
import time
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT
from PIL import Image

from layoutray import checkpoint
from layoutray.errors import TrackingError
from layoutray.store import shards, sources
from layoutray.tracking import client, models, stores, views
from layoutray.tracking.opening import DataUsed, command_tags, flat
from layoutray.tracking.registered import CANDIDATE, CHAMPION
from layoutray.tracking.stores import absolute, without_password

_NOTE = "mlflow_run.json"
"""File in a checkpoint folder that names its run."""
_CLAIM = "layoutray.claim"
"""Tag of a run, and key of the note until the run's id is noted. Finds a run whose opening was killed."""
_PARAMS_PER_CALL = 100
"""MLflow takes no more."""


@dataclass(frozen=True)
class Run:
    """One MLflow run, open for writing from any process that has its tracking URI and id."""

    uri: str
    run_id: str

    @property
    def client(self) -> MlflowClient:
        return client.connect(self.uri)

    @property
    def address(self) -> str:
        """The page of the run in MLflow's UI; its id alone, if the runs are in a file."""
        experiment = self.client.get_run(self.run_id).info.experiment_id
        is_server = self.uri.startswith(("http://", "https://"))
        return views.address(without_password(self.uri), experiment, self.run_id) if is_server else self.run_id

    def log_data(self, used: DataUsed) -> Dataset:
        source = used.folder if "://" in used.folder else str(Path(used.folder).absolute())
        kind = source.partition("://")[0] if "://" in source else "local"
        place, profile = json.dumps({"uri": source}), json.dumps(used.counts)
        dataset = Dataset(used.title, used.digest, kind, place, profile=profile)
        inputs = [DatasetInput(dataset, [InputTag(MLFLOW_DATASET_CONTEXT, used.context)])]
        try:
            self.client.log_inputs(self.run_id, inputs)
        except TrackingError:
            # Of runs that log the same new data set at once, the first creates it; the others fail once, then find it.
            self.client.log_inputs(self.run_id, inputs)
        return dataset

    def log_metrics(self, step: int, values: Mapping[str, float]) -> None:
        now = int(time.time() * 1000)
        self.log_batch([Metric(name, value, now, step) for name, value in values.items()])

    def log_batch(self, metrics: Sequence[Metric]) -> None:
        """Log at most 1,000 measurements in one call."""
        self.client.log_batch(self.run_id, metrics=metrics)

    def log_evaluation(self, step: int, values: Mapping[str, float], used: DataUsed) -> None:
        """Log metrics of the checkpoint of `step`, which were measured on a data set; also for the run's model."""
        model, dataset = models.of_run(self.client, self.run_id), self.log_data(used)
        if model:
            models.log_metrics(self.client, model, step, values, dataset)
        else:
            self.log_metrics(step, values)
        self.describe()

    def describe(self) -> None:
        """Write what is known of the run into its description; see `tracking.views`."""
        views.describe(self.client, self.run_id)

    def last_steps(self) -> dict[str, int]:
        """The last logged step of each metric."""
        mlflow = self.client
        histories = {
            name: mlflow.get_metric_history(self.run_id, name) for name in mlflow.get_run(self.run_id).data.metrics
        }
        return {name: max(metric.step for metric in history) for name, history in histories.items()}

    def log_picture(self, name: str, png: bytes) -> None:
        """Store PNG bytes as `pictures/NAME.png`, and as a picture that MLflow draws among the charts."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{name}.png"
            file.write_bytes(png)
            self.client.log_artifact(self.run_id, str(file), "pictures")
        with Image.open(io.BytesIO(png)) as picture:
            self.client.log_image(self.run_id, picture, key=f"pictures/{name}", synchronous=True)

    def log_checkpoint(self, folder: str | Path) -> None:
        """Store a checkpoint as the model of the run, unless it has one; see `models.log`."""
        if models.of_run(self.client, self.run_id):
            return
        note_file = sources.join(folder, _NOTE)
        more = {_NOTE: sources.read_bytes(note_file)} if sources.exists(note_file) else {}
        with checkpoint.local_copy(folder) as where:
            models.log(self.client, self.run_id, where, more)

    def register(self, name: str) -> str:
        """Make the logged checkpoint the next version of model `name`, with alias `candidate`. Returns the version.

        The first version also gets alias `champion`: there is none to compare it with.
        """
        mlflow = self.client
        try:
            mlflow.create_registered_model(name)
        except TrackingError as error:
            if error.code != "RESOURCE_ALREADY_EXISTS":
                raise
        version = models.register(mlflow, self.run_id, name)
        mlflow.set_registered_model_alias(name, CANDIDATE, version)
        if CHAMPION not in mlflow.get_registered_model(name).aliases:
            mlflow.set_registered_model_alias(name, CHAMPION, version)
        return version

    def note(self, folder: str | Path) -> None:
        """Write into a checkpoint folder which run it belongs to, without any password."""
        _write_note(folder, {"uri": without_password(self.uri), "run_id": self.run_id})

    @property
    def checkpoint_step(self) -> int:
        """The step of the training at which the run's model was saved; 0 if it has none."""
        outputs = self.client.get_run(self.run_id).outputs
        return outputs.model_outputs[0].step if outputs and outputs.model_outputs else 0

    @property
    def finished(self) -> bool:
        return self.client.get_run(self.run_id).info.status == "FINISHED"

    def is_registered(self, name: str) -> bool:
        """Whether a version of model `name` came from this run."""
        return any(version.name == name for version in self.client.search_model_versions(f"run_id='{self.run_id}'"))

    def reopen(self) -> None:
        """Continue an interrupted run."""
        self.client.update_run(self.run_id, status="RUNNING")

    @contextmanager
    def failed_on_error(self) -> Generator[None]:
        try:
            yield
        except BaseException:
            self.finish("FAILED")
            raise

    def finish(self, status: str = "FINISHED") -> None:
        """Close the run: FINISHED, FAILED or KILLED."""
        self.client.set_terminated(self.run_id, status)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What is known of a run when it is opened.

    Attributes:
        parameters: their nested keys are joined by dots.
        tags: besides those of the command.
        command: `layoutray VERB ...` in a shell, or `layoutray.VERB(...)` in Python.
        metrics: at step 0.
        parent: the run below which it is shown.
    """

    experiment: str
    name: str
    parameters: Mapping[str, Any]
    tags: Mapping[str, str]
    data: DataUsed
    command: str
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    parent: Run | None = None


def open_run(folder: str | Path, uri: str, known: Opening) -> Run:
    """The run noted in `folder` if an interrupted command resumes there, else a new one, which is then noted there."""
    if interrupted := noted(folder, uri):
        interrupted.reopen()
        return interrupted
    tags = {**known.tags, **command_tags(known.command), **claim(folder, uri)}
    run = create_run(uri, known.experiment, known.name, known.parameters, tags, known.parent)
    run.log_data(known.data)
    run.log_metrics(0, known.metrics)
    run.describe()
    run.note(folder)
    run.client.delete_tag(run.run_id, _CLAIM)
    return run


def create_run(
    uri: str,
    experiment: str,
    name: str,
    parameters: Mapping[str, Any],
    tags: Mapping[str, str],
    parent: Run | None = None,
) -> Run:
    """Open a run, shown below `parent`; the nested keys of its parameters are joined by dots."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = absolute(uri)
    with stores.locked(uri):
        mlflow = client.connect(uri)
        experiment_id = views.find_or_create(mlflow, experiment, stores.artifacts(uri))
    nested = {"mlflow.parentRunId": parent.run_id} if parent else {}
    run_id = mlflow.create_run(experiment_id, run_name=name, tags={**tags, **nested}).info.run_id
    params = [Param(key, value) for key, value in flat(parameters).items()]
    for start in range(0, len(params), _PARAMS_PER_CALL):
        mlflow.log_batch(run_id, params=params[start : start + _PARAMS_PER_CALL])
    return Run(uri, run_id)


def claim(folder: str | Path, uri: str) -> dict[str, str]:
    """Tags for a run that is about to be opened for a checkpoint folder; kept there until `Run.note` replaces them.

    A process killed in between leaves an empty run that no folder names; the next claim finds it by its tags and
    deletes it.
    """
    if key := _read_note(folder).get(_CLAIM):
        with stores.locked(absolute(uri)):
            mlflow = client.connect(uri)
            experiments = [known.experiment_id for known in mlflow.search_experiments()]
        for abandoned in mlflow.search_runs(experiments, f"tags.`{_CLAIM}` = '{key}'"):
            mlflow.delete_run(abandoned.info.run_id)
    else:
        key = uuid.uuid4().hex
        _write_note(folder, {_CLAIM: key})
    return {_CLAIM: key}


def noted(folder: str | Path, uri: str) -> Run | None:
    """The run that `Run.note` has written into a checkpoint folder; None if there is no note.

    Args:
        uri: of a server, with its password; used if the note names the same server.

    Raises:
        TrackingError: if the server does not answer, or does not know the run.
    """
    note = _read_note(folder)
    if "run_id" not in note:
        return None
    run = Run(absolute(uri) if without_password(absolute(uri)) == note["uri"] else note["uri"], note["run_id"])
    try:
        run.client.get_run(run.run_id)
    except TrackingError as error:
        if not error.code:
            raise
        raise TrackingError(
            f"MLflow at {without_password(run.uri)} does not know run {run.run_id}: {error.code}; "
            f"delete {sources.join(folder, _NOTE)} if it is gone for good",
            error.code,
        ) from None
    return run


def _read_note(folder: str | Path) -> dict[str, str]:
    note_file = sources.join(folder, _NOTE)
    return json.loads(sources.read_bytes(note_file)) if sources.exists(note_file) else {}


def _write_note(folder: str | Path, content: Mapping[str, str]) -> None:
    shards.write_bytes(json.dumps(content).encode(), str(folder), _NOTE)
