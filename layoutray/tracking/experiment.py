"""Experiments of MLflow, with saved views of the columns that matter: of the runs, and of groups of them."""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from layoutray.tracking import metric_names

_KIND, _TRAINING = "mlflow.experimentKind", "custom_model_development"
"""Tag, and its value for model training. MLflow 3.17 ignores it: each browser remembers a view, see TRAINING_VIEW."""
TRAINING_VIEW = "workflowType=machine_learning"
"""Parameter of an address of the UI: a browser that has never chosen a view opens it in that of language models."""
_RESULTS, _GROUPS = "results", "results-by-words"
"""Keys of the saved views."""
_VIEWS = {
    _RESULTS: ("Results", {}),
    _GROUPS: (
        "Results by data and words",
        {
            "groupBy": {
                "aggregateFunction": "average",
                "groupByKeys": [{"mode": "tag", "groupByData": "data"}, {"mode": "tag", "groupByData": "words"}],
            }
        },
    ),
}
"""Name of each view, and its state besides the columns, as the UI keeps it."""
_VIEW_TAG = "mlflow.sharedViewState."
_DESCRIPTIONS = ("attributes.`Dataset`", "tags.`arch`")
"""Columns that say what was trained on what, and on whose words; the views have them before the metrics."""
_NARROW = {"attributes.`Run Name`": 220, "runDateAndNestInfo": 120, "attributes.`Dataset`": 190, "tags.`arch`": 110}
"""Widths of the columns before the metrics, in pixels."""
_FIRST = ("attributes.`Run Name`", "runDateAndNestInfo")
"""Columns that every view has."""


def address(uri: str, experiment: str, run: str) -> str:
    """The page of a run in the UI of the server at `uri`, which has no password."""
    return f"{uri.rstrip('/')}/#/experiments/{experiment}/runs/{run}?{TRAINING_VIEW}"


def find_or_create(client: MlflowClient, name: str, artifacts: str | None) -> str:
    """Id of experiment `name`.

    Args:
        artifacts: where a new experiment keeps its files; None lets the server decide.
    """
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name, artifact_location=artifacts)
    if known is None or _KIND not in known.tags:
        client.set_experiment_tag(experiment, _KIND, _TRAINING)
    if known is None or MLFLOW_RUN_NOTE not in known.tags:
        client.set_experiment_tag(experiment, MLFLOW_RUN_NOTE, _description(experiment))
    return experiment


def show_columns(client: MlflowClient, experiment: str, metrics: Iterable[str]) -> None:
    """Add the headlines among `metrics` to the columns of the experiment's saved views."""
    kept = client.get_experiment(experiment).tags.get(_VIEW_TAG + _RESULTS)
    present = json.loads(json.loads(kept)["state"])["selectedColumns"] if kept else []
    shown = [column.removeprefix("metrics.`").removesuffix("`") for column in present if column.startswith("metrics.")]
    columns = [*_DESCRIPTIONS, *(f"metrics.`{name}`" for name in metric_names.headlines({*shown, *metrics}))]
    if columns != present:
        order = {"selectedColumns": columns, "columnOrder": [*_FIRST, *columns], "columnWidths": _widths(columns)}
        for key, (name, more) in _VIEWS.items():
            client.set_experiment_tag(experiment, _VIEW_TAG + key, _envelope(name, order | more))


def _widths(columns: Iterable[str]) -> dict[str, int]:
    """Pixels of columns, in which the names of metrics are not cut off."""
    return {column: 7 * len(column) - 40 for column in columns if column.startswith("metrics.")} | _NARROW


def _envelope(name: str, state: Mapping[str, Any]) -> str:
    """A saved view, as the UI stores it."""
    now = int(time.time() * 1000)
    return json.dumps({"name": name, "createdAt": now, "updatedAt": now, "state": json.dumps(state)})


def _description(experiment: str) -> str:
    place = f"#/experiments/{experiment}/runs?{TRAINING_VIEW}&viewStateShareKey="
    return f"[Results]({place}{_RESULTS}) · [Results by data and words]({place}{_GROUPS})"
