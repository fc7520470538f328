"""What MLflow's UI shows: experiments with saved views of the columns that matter, and descriptions of runs and models.

A description says what was trained on what, how good it is, and what repeats it. The UI folds a description after five
lines, so it has five, in one paragraph.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from mlflow.entities import Run
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from layoutray.store import sources
from layoutray.tracking import metric_names
from layoutray.tracking.opening import COMMAND

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
_START, _END = "<!-- layoutray -->", "<!-- end -->"
"""Around the generated part; what people write behind it stays."""
_TITLES = {
    metric_names.MINUTES: "minutes",
    "speed/tokens_per_second": "tokens a second",
    "speed/mfu": "MFU",
    metric_names.PAGES: "pages",
    "accepted_at_99": "coverage at 99 % precision",
    "field_f1": "field F1",
    "f1": "entity F1",
}


def address(uri: str, experiment: str, run: str) -> str:
    """The page of a run in the UI of the server at `uri`, which has no password."""
    return f"{uri.rstrip('/')}/#/experiments/{experiment}/runs/{run}?{TRAINING_VIEW}"


def find_or_create(client: MlflowClient, name: str, artifacts: str | None) -> str:
    """Id of experiment `name`. A new one keeps its files in `artifacts`; with None, the server decides."""
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name, artifact_location=artifacts)
    if known is None or _KIND not in known.tags:
        client.set_experiment_tag(experiment, _KIND, _TRAINING)
    if known is None or MLFLOW_RUN_NOTE not in known.tags:
        place = f"#/experiments/{experiment}/runs?{TRAINING_VIEW}&viewStateShareKey="
        note = f"[Results]({place}{_RESULTS}) · [Results by data and words]({place}{_GROUPS})"
        client.set_experiment_tag(experiment, MLFLOW_RUN_NOTE, note)
    return experiment


def show_columns(client: MlflowClient, experiment: str, metrics: Iterable[str]) -> None:
    """Add the headlines among `metrics` to the columns of the experiment's saved views."""
    kept = client.get_experiment(experiment).tags.get(_VIEW_TAG + _RESULTS)
    present = json.loads(json.loads(kept)["state"])["selectedColumns"] if kept else []
    shown = [column.removeprefix("metrics.`").removesuffix("`") for column in present if column.startswith("metrics.")]
    columns = [*_DESCRIPTIONS, *(f"metrics.`{name}`" for name in metric_names.headlines({*shown, *metrics}))]
    if columns != present:
        # Pixels in which the names of metrics are not cut off.
        widths = {column: 7 * len(column) - 40 for column in columns if column.startswith("metrics.")} | _NARROW
        order = {"selectedColumns": columns, "columnOrder": [*_FIRST, *columns], "columnWidths": widths}
        now = int(time.time() * 1000)
        for key, (name, more) in _VIEWS.items():
            view = {"name": name, "createdAt": now, "updatedAt": now, "state": json.dumps(order | more)}
            client.set_experiment_tag(experiment, _VIEW_TAG + key, json.dumps(view))


def describe(client: MlflowClient, run_id: str) -> None:
    """Write the generated part of the descriptions of a run and its model, and show its headlines in saved views."""
    run = client.get_run(run_id)
    outputs = run.outputs.model_outputs if run.outputs else []
    place = f"#/experiments/{run.info.experiment_id}/models"
    links = [f"[Its model]({place}/{one.model_id}?{TRAINING_VIEW})." for one in outputs[:1]]
    client.set_tag(run_id, MLFLOW_RUN_NOTE, _described(run, links, run.data.tags.get(MLFLOW_RUN_NOTE, "")))
    for output in outputs:
        before = client.get_logged_model(output.model_id).tags.get(MLFLOW_RUN_NOTE, "")
        client.set_logged_model_tags(output.model_id, {MLFLOW_RUN_NOTE: _described(run, [], before)})
    show_columns(client, run.info.experiment_id, run.data.metrics)


def _described(run: Run, links: list[str], before: str) -> str:
    """The description in Markdown, and what people have written behind the generated part of that `before`."""
    tags = run.data.tags
    lines = [" ".join([_what(tags), *links]), *_results(run.data.metrics)]
    lines += [f"Repeat it: `{tags[COMMAND]}`"] if COMMAND in tags else []
    paragraph = "  \n".join(filter(None, lines))
    return f"{_START}\n\n{paragraph}\n\n{_END}{before.partition(_END)[2]}"


def _what(tags: Mapping[str, str]) -> str:
    """What was trained on what, from which checkpoints: their names, or those of models of the registry."""
    if "task" not in tags:
        return ""
    words = f", words from {tags['words']}" if tags.get("words") else ""
    data = f" on **{tags['data']}**{words}" if "data" in tags else ""
    init = tags["init"].split(", ") if "init" in tags else []
    names = [one if one.startswith("models:") else sources.name(one) for one in init]
    start = f", started from {', '.join(names)}" if names else ""
    return f"**{tags['arch']}** for task `{tags['task']}`{data}{start}."


def _results(metrics: Mapping[str, float]) -> Iterator[str]:
    """The metrics that say how good it is, and how expensive: a line for each."""
    names = metric_names.headlines(metrics)
    costs = [name for name in names if name.startswith(("speed/", "data/"))]
    sections = groupby(names[: len(names) - len(costs)], lambda name: name.partition("/")[0])
    yield " ".join(_sentence(section, members, metrics) for section, members in sections)
    yield _sentence("training", costs, metrics) if costs else ""


def _sentence(section: str, names: Iterable[str], metrics: Mapping[str, float]) -> str:
    def shown(name: str) -> str:
        metric, value = name.rpartition("/")[2], metrics[name]
        number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return f"{_TITLES.get(name) or _TITLES.get(metric, metric)} **{number}**"

    return f"{section.capitalize()}: {', '.join(map(shown, names))}."
