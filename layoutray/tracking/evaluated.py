"""Metrics of a checkpoint in MLflow: of its run, of its model, and of the data set they were measured on."""

import time
from collections.abc import Mapping

from mlflow.entities import Dataset, LoggedModel, Metric
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from layoutray.tracking import description, experiment


def log(
    client: MlflowClient, model: LoggedModel, step: int, metrics: Mapping[str, float], data: Dataset | None
) -> None:
    """Log `metrics` of the checkpoint of `step`, which is `model`, into its run; they were measured on `data`."""
    run_id, now = str(model.source_run_id), int(time.time() * 1000)
    name, digest = (data.name, data.digest) if data else (None, None)
    linked = [Metric(key, value, now, step, model.model_id, name, digest, run_id) for key, value in metrics.items()]
    client.log_batch(run_id, metrics=linked)


def describe(client: MlflowClient, run_id: str) -> None:
    """Write the description of the run and of its model, and show its headlines in the experiment's saved view."""
    run = client.get_run(run_id)
    client.set_tag(run_id, MLFLOW_RUN_NOTE, description.of_run(run, run.data.tags.get(MLFLOW_RUN_NOTE, "")))
    for output in run.outputs.model_outputs if run.outputs else []:
        before = client.get_logged_model(output.model_id).tags.get(MLFLOW_RUN_NOTE, "")
        client.set_logged_model_tags(output.model_id, {MLFLOW_RUN_NOTE: description.of_model(run, before)})
    experiment.show_columns(client, run.info.experiment_id, run.data.metrics)
