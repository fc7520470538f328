"""The checkpoint of a run as a LoggedModel of MLflow, with the metrics and data sets of the run linked to it."""

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus
from mlflow.tracking import MlflowClient
from mlflow.utils import mlflow_tags

from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.tracking import evaluated, flavor, metric_names

_REFUSED = re.compile(r"[/:.%\"']")
"""Characters that MLflow refuses in the name of a model."""
_ORIGIN = (mlflow_tags.MLFLOW_USER, mlflow_tags.MLFLOW_SOURCE_NAME, mlflow_tags.MLFLOW_SOURCE_TYPE)
"""Tags of a run that its model has too."""
_STEP = "step"
"""In the metrics of a checkpoint: the step of the training at which it was saved."""


def of_run(client: MlflowClient, run_id: str) -> LoggedModel | None:
    """The model of a run; None if it has none."""
    outputs = client.get_run(run_id).outputs
    return client.get_logged_model(outputs.model_outputs[0].model_id) if outputs and outputs.model_outputs else None


def required(client: MlflowClient, run_id: str) -> LoggedModel:
    """The model of a run. Raises InputError if it has none."""
    model = of_run(client, run_id)
    if model is None:
        raise InputError(f"run {run_id} has no checkpoint that can be registered")
    return model


def log(client: MlflowClient, run_id: str, folder: Path, more: Mapping[str, bytes]) -> None:
    """Store the checkpoint in `folder` as the model of the run, without training states and logs.

    It is an MLflow model of flavour `python_function`, unless it answers no documents. If a process is killed before
    the model is complete, the run has no model, and MLflow lists an incomplete one.

    Args:
        more: further files by name.
    """
    run = client.get_run(run_id)
    metrics = checkpoint.read_json(folder / "metrics.json")
    with flavor.files(folder) as (files, facts):
        name = _REFUSED.sub("-", str(run.info.run_name))
        tags = {tag: run.data.tags[tag] for tag in _ORIGIN if tag in run.data.tags}
        model = client.create_logged_model(run.info.experiment_id, name, run_id, tags=tags, params=facts)
        for file in files:
            client.log_model_artifact(model.model_id, str(file))
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in more.items():
            file = Path(scratch, name)
            file.write_bytes(content)
            client.log_model_artifact(model.model_id, str(file))
    model = client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
    step = int(metrics.get(_STEP, 0))
    data = [one.dataset for one in run.inputs.dataset_inputs] if run.inputs else []
    named = {metric_names.of_checkpoint(key): value for key, value in metrics.items() if key != _STEP}
    evaluated.log(client, model, step, named, data[0] if data else None)
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, step)])


def register(client: MlflowClient, run_id: str, name: str) -> str:
    """Make the model of a run the next version of the registered model `name`, and link both. Returns the version.

    Raises:
        InputError: if the run has no model.
    """
    model = required(client, run_id)
    version = client.create_model_version(
        name,
        model.artifact_location,
        run_id,
        description=model.tags.get(mlflow_tags.MLFLOW_RUN_NOTE),
        model_id=model.model_id,
    ).version
    # The tag from which the UI learns the versions of a model; MLflow's client does not set it.
    versions = json.loads(model.tags.get(mlflow_tags.MLFLOW_MODEL_VERSIONS, "[]"))
    versions.append({"name": name, "version": version})
    client.set_logged_model_tags(model.model_id, {mlflow_tags.MLFLOW_MODEL_VERSIONS: json.dumps(versions)})
    return str(version)
