"""Checkpoints as LoggedModels of MLflow, with the metrics and data sets of their runs linked to them.

A checkpoint that answers documents is also an MLflow model of flavour `python_function`, with loader, signature, input
example and requirements.
"""

import json
import re
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

from mlflow.entities import Dataset, LoggedModel, LoggedModelOutput, LoggedModelStatus, Metric
from mlflow.tracking import MlflowClient
from mlflow.utils import mlflow_tags

from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.recipe.ingest import load_ingest
from layoutray.tasks import TagsWords, WritesTexts
from layoutray.tracking import metric_names
from layoutray.version import VERSION

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own types
    import mlflow.pyfunc
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import AnyType, Array, Object, Property

RECOGNITION = "ingest-folder"
"""Ingest recipe whose section `recognition` says how the model reads files; that of `layoutray serve`."""

# MLflow takes no integers as doubles, and JSON has integers. The model itself says what a box must be.
_WORD = Object([Property("text", DataType.string), Property("box", Array(AnyType()))])
_PAGE = Object([Property("width", DataType.long), Property("height", DataType.long), Property("words", Array(_WORD))])
_SIGNATURE = ModelSignature(
    inputs=Schema(
        [
            ColSpec(DataType.binary, "file", required=False),
            ColSpec(Array(_PAGE), "pages", required=False),
        ]
    )
)
_GENERATED = {"pages": [{"width": 100, "height": 100, "words": [{"text": "1", "box": [10.0, 10.0, 20.0, 20.0]}]}]}
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


def log(client: MlflowClient, run_id: str, folder: Path, more: Mapping[str, bytes]) -> None:
    """Store the checkpoint in `folder` as the model of the run, without training states and logs.

    It is an MLflow model of flavour `python_function`, unless it answers no documents. If a process is killed before
    the model is complete, the run has no model, and MLflow lists an incomplete one.

    Args:
        more: further files by name.
    """
    run = client.get_run(run_id)
    metrics = checkpoint.read_json(folder / "metrics.json")
    recipe = recipes.from_stored(checkpoint.read_json(folder / "recipe.json"))
    facts = {"task": recipe.task.name, "arch": recipe.arch}
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, "model")
        if isinstance(recipe.task, TagsWords | WritesTexts):  # a model that was only pretrained answers no documents
            facts |= {"recognition": RECOGNITION, "ocr_engine": load_ingest(RECOGNITION).recognition.engine}
            _save_flavor(made, folder / checkpoint.EXAMPLE, facts)
        made.mkdir(exist_ok=True)
        for name, content in more.items():
            (made / name).write_bytes(content)
        tags = {tag: run.data.tags[tag] for tag in _ORIGIN if tag in run.data.tags}
        name = _REFUSED.sub("-", str(run.info.run_name))
        model = client.create_logged_model(run.info.experiment_id, name, run_id, tags=tags, params=facts)
        own = [folder / name for name in (*checkpoint.FILES, checkpoint.EXAMPLE)]
        for file in [*filter(Path.is_file, own), *made.glob("*")]:
            client.log_model_artifact(model.model_id, str(file))
    model = client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
    step = int(metrics.get(_STEP, 0))
    data = [one.dataset for one in run.inputs.dataset_inputs] if run.inputs else []
    named = {metric_names.of_checkpoint(key): value for key, value in metrics.items() if key != _STEP}
    log_metrics(client, model, step, named, data[0] if data else None)
    client.log_outputs(run_id, [LoggedModelOutput(model.model_id, step)])


def log_metrics(
    client: MlflowClient, model: LoggedModel, step: int, metrics: Mapping[str, float], data: Dataset | None
) -> None:
    """Log `metrics` of the checkpoint of `step`, which is `model`, into its run too; they were measured on `data`."""
    run_id, now = str(model.source_run_id), int(time.time() * 1000)
    name, digest = (data.name, data.digest) if data else (None, None)
    linked = [Metric(key, value, now, step, model.model_id, name, digest, run_id) for key, value in metrics.items()]
    client.log_batch(run_id, metrics=linked)


def register(client: MlflowClient, run_id: str, name: str) -> str:
    """Make the model of a run the next version of `name`, and return that. Raises InputError if there is no model."""
    model = of_run(client, run_id)
    if model is None:
        raise InputError(f"run {run_id} has no checkpoint that can be registered")
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


def _save_flavor(folder: Path, own: Path, facts: Mapping[str, str]) -> None:
    """Write the files of the MLflow model. Its input example is `own`, if that exists, else a generated page."""
    example = json.loads(own.read_bytes()) if own.is_file() else _GENERATED
    mlflow.pyfunc.save_model(
        str(folder),
        loader_module="layoutray.pyfunc",
        signature=_SIGNATURE,
        input_example=[{"pages": example["pages"]}],
        model_config={"recipe": RECOGNITION},
        metadata=dict(facts),
        pip_requirements=[f"layoutray=={VERSION}"],
    )
