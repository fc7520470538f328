"""The checkpoint of a run as a LoggedModel of MLflow, with the metrics and data sets of the run linked to it."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus
from mlflow.tracking import MlflowClient

from layoutray import checkpoint, flavor
from layoutray.errors import InputError
from layoutray.experiments import evaluated, metric_names

_REFUSED = re.compile(r"[/:.%\"']")
"""Characters that MLflow refuses in the name of a model."""
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
        model = client.create_logged_model(run.info.experiment_id, name, run_id, params=facts)
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
