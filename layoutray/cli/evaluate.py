"""`layoutray evaluate`: measure a checkpoint on labelled pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.evaluation_options import EvaluationOptions
from layoutray.cli.shared.options import option
from layoutray.cli.verbs import needs_extra
from layoutray.errors import DocumentError, InputError

if TYPE_CHECKING:
    from layoutray.evaluation.evaluate import Evaluation

_MORE = ("lost_entities", "recall_with_lost", "f1_with_lost", "record_f1", "record_field_f1")
"""Metrics below the table, if they were measured."""


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(EvaluationOptions):
    """Options of `layoutray evaluate`."""

    truth: Sequence[str] = option(
        "--truth",
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="the same documents ingested with words=annotation: entities without a recognised word count as missed",
    )
    beams: int = options.beams()
    noise: Sequence[float] = option(
        "--noise",
        nargs="+",
        type=checked.share,
        default=[],
        metavar="SHARE",
        help="also measure the F1 when this share of the characters is wrong, for example 0.05 0.1",
    )
    all: bool = option("--all", action="store_true", help="also show all metrics, as in the report")
    json: str | None = options.report_file()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("evaluate", arguments, EvaluateOptions)
    terminal.show_report(_measure(chosen), chosen.json, indent=2)
    return 0


@needs_extra("evaluate")
def measure(checkpoint: str | Path, pages: str | Path | Sequence[str | Path], **given: Any) -> dict[str, Any]:
    """Measure a checkpoint on labelled pages; also logs the metrics to the MLflow run of its training.

    Args:
        checkpoint: folder, s3:// address, or `models:/NAME@ALIAS`.
        pages: folders that `ingest` has written.
        given: other options of the verb, such as `split`, `truth`, `beams` and `noise`.

    Returns:
        The report: `metrics` by name, and what they were measured on.

    Raises:
        InputError: if there is no such option, or there are no pages of the split.
        CheckpointError: if the checkpoint is incomplete.
    """
    folders = [str(pages)] if isinstance(pages, str | Path) else [str(folder) for folder in pages]
    if not folders:
        raise InputError("no folder of pages is given; give one that `layoutray ingest` has written")
    parsed = options.given("evaluate", ["--", str(checkpoint), *folders], EvaluateOptions)
    return _measure(options.with_options(parsed, given))


def _measure(chosen: EvaluateOptions) -> dict[str, Any]:
    from layoutray.cli.encode import say_cuts
    from layoutray.cli.shared.measured import MeasuredPages
    from layoutray.evaluation.evaluate import evaluate
    from layoutray.evaluation.measurement import metrics_under_noise

    selection = chosen.selection()
    tracked = chosen.load()
    evaluation = evaluate(tracked.loaded, selection, beams=chosen.beams, truth=chosen.truth)
    noisy = metrics_under_noise(tracked.loaded, selection, chosen.noise)
    metrics = evaluation.metrics | noisy
    encoded, recipe = evaluation.encoded, tracked.loaded.recipe
    examples = "documents" if recipe.task.of_documents else "windows"
    title = f"{recipe.name} on {selection.name}, {len(encoded.examples)} {examples}"
    _show(title, evaluation, noisy)
    if chosen.all:
        terminal.show_table("All metrics", ("metric", "value"), sorted(metrics.items()))
    if encoded.failed_pages:
        terminal.say(f"{encoded.failed_pages} pages could not be encoded and are not in these numbers")
    say_cuts(recipe, encoded.cut_documents, encoded.cut_texts)
    measured = MeasuredPages(selection)
    warnings = measured.other_words(tracked.loaded.learnt)
    for warning in warnings:
        terminal.say(warning)
    if run := tracked.run():
        measured.log(run, int(tracked.loaded.metrics["step"]), metrics)
        for name, png in _pictures(evaluation, selection.name):
            run.log_picture(name, png)
    return {
        "checkpoint": chosen.checkpoint,
        "pages": list(selection.folders),
        "split": selection.name,
        "words": measured.words,
        "learnt_words": [one.name for one in tracked.loaded.learnt],
        "warnings": warnings,
        "dead": encoded.failed_pages,
        "cut": encoded.cut_documents,
        "texts_cut": encoded.cut_texts,
        "metrics": metrics,
    }


def _show(title: str, evaluation: "Evaluation", noisy: Mapping[str, float]) -> None:
    """Show the scores of fields, else of entities, else all metrics; and what the call has asked for."""
    from layoutray.cli.shared import field_report

    metrics = evaluation.metrics
    kinds = [name.partition(".")[2] for name in metrics if name.startswith("support.")]
    if evaluation.fields:
        field_report.show_scores(title, evaluation.fields)
    elif kinds:
        names = ("f1", "precision", "recall", "support")
        rows = [
            (kind or "all", *(metrics.get(f"{name}.{kind}" if kind else name, "-") for name in names))
            for kind in (*kinds, "")
        ]
        terminal.show_table(title, ("entity", "F1", "precision", "recall", "true entities"), rows)
    else:
        terminal.show_table(title, ("metric", "value"), sorted(metrics.items()))
        return
    for name, value in {**{name: metrics[name] for name in _MORE if name in metrics}, **noisy}.items():
        terminal.say(f"{name}: {value:.4f}")


def _pictures(evaluation: "Evaluation", name: str) -> Iterator[tuple[str, bytes]]:
    """Each picture with its name; none of a model that labels no words."""
    from layoutray.evaluation.pictures import confusion_picture, reliability_picture

    words = evaluation.words
    if words is None:
        return
    yield f"confusion_{name}", confusion_picture(words.confusion)
    fields = evaluation.fields and evaluation.fields.calibration
    yield f"reliability_{name}", reliability_picture(words.calibration, fields)
    drawn = 0
    for overlay in words.overlays:
        try:
            picture = overlay.png()
        except DocumentError as error:
            terminal.say(f"no overlay of page {overlay.page.number} of {overlay.page.source}: {error}")
            continue
        drawn += 1
        yield f"overlay_{name}_{drawn}", picture
