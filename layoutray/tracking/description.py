"""The description of a run on its page in MLflow: what was trained on what, how good it is, what repeats it.

The UI folds a description after five lines, so it has five, in one paragraph.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from mlflow.entities import Run

from layoutray.store import sources
from layoutray.tracking import metric_names
from layoutray.tracking.experiment import TRAINING_VIEW
from layoutray.tracking.origin import COMMAND

_START, _END = "<!-- layoutray -->", "<!-- end -->"
"""Around the generated part; what people write behind it stays."""
_BREAK = "  \n"
_TITLES = {
    metric_names.MINUTES: "minutes",
    "speed/tokens_per_second": "tokens a second",
    "speed/mfu": "MFU",
    metric_names.PAGES: "pages",
    "accepted_at_99": "coverage at 99 % precision",
    "field_f1": "field F1",
    "f1": "entity F1",
}


def of_run(run: Run, before: str) -> str:
    """The description of `run`, in Markdown.

    Args:
        before: the present description, of which the text after the generated part is kept.
    """
    models = run.outputs.model_outputs if run.outputs else []
    place = f"#/experiments/{run.info.experiment_id}/models"
    links = [f"[Its model]({place}/{one.model_id}?{TRAINING_VIEW})." for one in models[:1]]
    return _text(run, links) + before.partition(_END)[2]


def of_model(run: Run, before: str) -> str:
    """The description of the model of `run`, like `of_run`."""
    return _text(run, []) + before.partition(_END)[2]


def _text(run: Run, links: list[str]) -> str:
    what = " ".join([_what(run.data.tags), *links])
    lines = [what, *_results(run.data.metrics), _command(run.data.tags)]
    return "\n\n".join([_START, _BREAK.join(filter(None, lines)), _END])


def _what(tags: Mapping[str, str]) -> str:
    """What was trained on what."""
    words = f", words from {tags['words']}" if tags.get("words") else ""
    data = f" on **{tags['data']}**{words}" if "data" in tags else ""
    start = f", started from {_names(tags['init'])}" if "init" in tags else ""
    return f"**{tags['arch']}** for task `{tags['task']}`{data}{start}." if "task" in tags else ""


def _names(init: str) -> str:
    """Checkpoints without the folders above them; models of the registry as they are."""
    return ", ".join(one if one.startswith("models:") else sources.name(one) for one in init.split(", "))


def _results(metrics: Mapping[str, float]) -> Iterator[str]:
    """The metrics that say how good it is, and how expensive: a line for each."""
    names = metric_names.headlines(metrics)
    costs = [name for name in names if name.startswith(("speed/", "data/"))]
    sections = groupby(names[: len(names) - len(costs)], lambda name: name.partition("/")[0])
    yield " ".join(_sentence(section, members, metrics) for section, members in sections)
    yield _sentence("training", costs, metrics) if costs else ""


def _sentence(section: str, names: Iterable[str], metrics: Mapping[str, float]) -> str:
    shown = ", ".join(f"{_title(name)} **{_number(metrics[name])}**" for name in names)
    return f"{section.capitalize()}: {shown}."


def _title(name: str) -> str:
    metric = name.rpartition("/")[2]
    return _TITLES.get(name) or _TITLES.get(metric, metric)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _command(tags: Mapping[str, str]) -> str:
    return f"Repeat it: `{tags[COMMAND]}`" if COMMAND in tags else ""
