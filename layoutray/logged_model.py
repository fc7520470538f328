"""The checkpoint of a run as a LoggedModel of MLflow, with the metrics and data sets of the run linked to it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus, Metric
from mlflow.tracking import MlflowClient

from layoutray import checkpoint, flavor
from layoutray.errors import InputError

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
        model = client.create_logged_model(run.info.experiment_id, flavor.NAME, run_id, params=facts)
        for file in files:
            client.log_model_artifact(model.model_id, str(file))
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in more.items():
            file = Path(scratch, name)
            file.write_bytes(content)
            client.log_model_artifact(model.model_id, str(file))
    client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
    step = int(metrics.get(_STEP, 0))
    data = [one.dataset for one in run.inputs.dataset_inputs] if run.inputs else []
    name, digest = (data[0].name, data[0].digest) if data else (None, None)
    linked = [
        Metric(one.key, one.value, one.timestamp, one.step, model.model_id, name, digest, run_id)
        for key in metrics
        for one in client.get_metric_history(run_id, key)
        if one.step == step
    ]
    client.log_batch(run_id, metrics=linked)
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, step)])
