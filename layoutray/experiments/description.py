"""The description of a run on its page in MLflow: what was trained on what, how good it is, what repeats it."""

from collections.abc import Mapping

from mlflow.entities import Run

from layoutray.experiments import metric_names
from layoutray.experiments.origin import COMMAND

_START, _END = "<!-- layoutray -->", "<!-- end -->"
"""Around the generated part; what people write behind it stays."""
_TITLES = {
    metric_names.MINUTES: "minutes",
    "speed/tokens_per_second": "tokens a second",
    "speed/mfu": "share of the peak speed (MFU)",
    metric_names.PAGES: "training pages",
    "accepted_at_99": "coverage at a precision of 99 %",
    "field_f1": "F1 of fields",
    "f1": "F1 of entities",
}


def markdown(run: Run, before: str) -> str:
    """The description of `run`, in Markdown.

    Args:
        before: the present description, of which the text after the generated part is kept.
    """
    tags = run.data.tags
    parts = [_START, _what(tags), _links(run), _table(run.data.metrics), _how(tags), _END]
    return "\n\n".join(part for part in parts if part) + before.partition(_END)[2]


def _what(tags: Mapping[str, str]) -> str:
    """What was trained on what."""
    words = f", words from {tags['words']}" if tags.get("words") else ""
    data = f" on **{tags['data']}**{words}" if "data" in tags else ""
    start = f", started from {tags['init']}" if "init" in tags else ""
    return f"**{tags['arch']}** for task `{tags['task']}`{data}{start}." if "task" in tags else ""


def _links(run: Run) -> str:
    models = run.outputs.model_outputs if run.outputs else []
    place = f"#/experiments/{run.info.experiment_id}/models"
    return "".join(f"[The model]({place}/{one.model_id}) with its metrics and data sets." for one in models[:1])


def _table(metrics: Mapping[str, float]) -> str:
    rows = [f"| {_title(name)} | {_number(metrics[name])} |" for name in metric_names.headlines(metrics)]
    return "\n".join(["| measure | value |", "| --- | --- |", *rows]) if rows else ""


def _title(name: str) -> str:
    section, _, metric = name.rpartition("/")
    return _TITLES[name] if name in _TITLES else f"{_TITLES.get(metric, metric)}, {section}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _how(tags: Mapping[str, str]) -> str:
    return f"Repeat it:\n\n```\n{tags[COMMAND]}\n```" if COMMAND in tags else ""
