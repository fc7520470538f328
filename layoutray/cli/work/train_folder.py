"""The steps of `layoutray train`; see `layoutray.cli.train_folder`."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from layoutray import checkpoint, start
from layoutray.cli import encode, ingest
from layoutray.cli.shared import cost, field_report, output_folder, terminal, tracked_training, trials
from layoutray.cli.shared.planned_trainings import (
    RECIPE,
    Part,
    PlannedTrainings,
    check_measured,
    plan,
    recipe_of,
    schedule_for,
)
from layoutray.cli.shared.progress import ProgressDisplay
from layoutray.cli.train_folder import TYPES, TrainedFolder, TrainFolderOptions
from layoutray.cluster.connect import connect
from layoutray.cluster.encode import encode as encode_pages
from layoutray.cluster.ingest import plan_ingest
from layoutray.errors import InputError
from layoutray.evaluation.acceptance import choose_thresholds, with_thresholds
from layoutray.evaluation.cross_validation import cross_validate
from layoutray.evaluation.disagreements import disagreements, write_queue
from layoutray.evaluation.evaluate import FieldEvaluation
from layoutray.evaluation.model_labels import ModelLabels
from layoutray.metrics.acceptance import Goal
from layoutray.prepare.infer_fields import InferredFields, infer_fields
from layoutray.prepare.language import with_language
from layoutray.prepare.whole_documents import read_documents
from layoutray.readers import labelled_folder
from layoutray.recipe import recipes
from layoutray.recipe.ingest import IngestRecipe, load_ingest
from layoutray.recipe.recipes import Recipe
from layoutray.store import job as owned
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet
from layoutray.store.output_lock import working_on
from layoutray.tasks import document_fields_of
from layoutray.tracking import registered
from layoutray.tracking.runs import Run
from layoutray.training.job import Job

_STEPS = 6
_SAMPLE = 8
"""Pages that a dry run reads of each folder."""
_QUEUE = "disagreements"
_GOAL = Goal(precision=0.95, risk=0.1)
"""Of the answers that are accepted without a look."""
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def show_plan(chosen: TrainFolderOptions) -> int:
    """Write the plan of a dry run, with a price also what reading will cost. Returns exit status 0."""
    readers = _readers(chosen)
    plan: dict[str, Any] = {"readers": readers, "model": _place(chosen, "model")}
    if chosen.price:
        plan["reading"] = {
            folder: _reading(folder, load_ingest(_ingest_recipe(reader), _ingest_keys(reader, chosen)), chosen.price)
            for reader, folder in zip(readers, chosen.folders, strict=True)
        }
    return terminal.show_plan(recipes.load(RECIPE, _overrides(chosen, of_ingest=False)), plan)


def _reading(folder: str, recipe: IngestRecipe, price: float) -> dict[str, Any]:
    root = output_folder.existing(folder)
    recipe, _ = with_language(recipe, root)
    with ProgressDisplay() as progress:
        tasks = plan_ingest(root, recipe, progress=progress).page_tasks
    return {"pages": len(tasks)} | (cost.of_pages(tasks, recipe, _SAMPLE, None, price) if tasks else {})


def run(chosen: TrainFolderOptions) -> TrainedFolder:
    """The six steps. Options are checked before the first."""
    readers, wanted, name = _readers(chosen), _wanted(chosen.fields), _name(chosen)
    out = output_folder.usable(chosen.out)
    recipes.load(RECIPE, _overrides(chosen, of_ingest=False))
    for reader in readers:
        load_ingest(_ingest_recipe(reader), _ingest_keys(reader, chosen))
    tracked_training.check_tracking(chosen.tracking_uri, name)
    init = tracked_training.starting_checkpoints(chosen.init or [start.NAME], chosen.tracking_uri)
    if not init:
        raise InputError("--init is none; few documents need a trained start: name one, or leave the option out")
    of_start = checkpoint.load(registered.fetch(init[0], chosen.tracking_uri)).recipe
    with working_on(out), connect():
        owned.claim(out, {"folders": [*map(sources.absolute, chosen.folders)]})
        _say_step(1, "read the documents")
        fields = _read(readers, wanted, chosen)
        _say_step(2, "cut their pages into windows of tokens")
        chosen = replace(chosen, init=init, name=name)
        training = replace(chosen, out=_training_place(fields, chosen))
        planned = _encode(fields, of_start, _pages(chosen), training)
        _say_step(3, f"train {len(planned.trials)} models: one of all documents, the others to measure")
        parent = trials.open_whole(planned.trials, training, [])
        with parent.failed_on_error():
            trials.train_every(planned.trials, trials.check(planned.trials), parent, training)
            _say_step(4, "measure: each document is answered by a model that has not seen it")
            labels = ModelLabels.of(_pages(chosen), fields.types)
            answered = _answers(planned.parts, chosen)
            measured = labels.known(answered)
            differing = _write_queue(answered, labels, sources.name(training.out), chosen)
            by_half = labels.known(_answers(planned.halves, chosen)) if planned.halves else None
            _say_step(5, "choose from which confidence answers need no look")
            model = _with_thresholds(planned.whole.job, measured, parent, chosen)
            _say_step(6, f"register the model as {name}")
            parent.log_checkpoint(model)
            tracked_training.register(parent, name)
        parent.finish()
        for part in (*planned.parts, *planned.halves):  # their answers are kept
            checkpoint.remove_weights(part.trial.job.out)
    field_report.show(measured, planned.whole.job)
    field_report.show_model_labels(labels, measured)
    field_report.show_gain(by_half and field_report.gain(measured, by_half, planned.schedule))
    field_report.show_next_steps(chosen.out, name)
    if differing:
        field_report.show_queue(differing, chosen.folders, _place(chosen, _QUEUE))
    return TrainedFolder(checkpoint=sources.absolute(model), model=name, metrics=measured.metrics())


def _readers(chosen: TrainFolderOptions) -> list[str]:
    return [labelled_folder.reader_of(output_folder.existing(folder)) for folder in chosen.folders]


def _ingest_recipe(reader: str) -> str:
    return f"ingest-{reader.replace('_', '-')}"


def _pages(chosen: TrainFolderOptions) -> list[str]:
    return [sources.join(_place(chosen, "pages"), str(number)) for number in range(1, len(chosen.folders) + 1)]


def _read(readers: Sequence[str], wanted: Mapping[str, str], chosen: TrainFolderOptions) -> InferredFields:
    """Ingest the documents; all are in split train. Returns their fields."""
    assignments = ["dev_share=0.0", "test_share=0.0", "measured=none"]
    for reader, folder, pages in zip(readers, chosen.folders, _pages(chosen), strict=True):
        ingest.ingest(_ingest_recipe(reader), folder, pages, overrides=[*assignments, *_ingest_keys(reader, chosen)])
    fields = infer_fields(read_documents([*map(DataSet, _pages(chosen))]), wanted)
    field_report.show_fields(fields)
    return fields


def _training_place(fields: InferredFields, chosen: TrainFolderOptions) -> str:
    """The folder of the trainings with these documents and options."""
    # The name of a file of pages follows from its content.
    files = [[sources.name(file) for file in shards.shards(DataSet(folder).pages)] for folder in _pages(chosen)]
    settings = [fields.task(), chosen.init, chosen.name, chosen.folds, _overrides(chosen, of_ingest=False)]
    digest = hashlib.sha256(json.dumps([files, settings]).encode()).hexdigest()[:8]
    return sources.join(_place(chosen, "trainings"), digest)


def _encode(
    fields: InferredFields, of_start: Recipe, pages: Sequence[str], chosen: TrainFolderOptions
) -> PlannedTrainings:
    """Encode the pages. Returns the trainings that their number needs."""
    fetch, of_training = registered.fetcher(chosen.tracking_uri), _overrides(chosen, of_ingest=False)
    examples, trained, folds = (sources.absolute(_place(chosen, step)) for step in ("examples", "trained", "folds"))
    recipe = recipe_of(chosen.name, fields.task(), chosen.init[0], of_start, of_training)
    with ProgressDisplay() as progress:
        card = encode_pages(recipe, [*map(sources.absolute, pages)], examples, fetch=fetch, progress=progress)
    encode.summarise(card, recipe, _place(chosen, "examples"))
    scheduled = schedule_for(examples, of_start, chosen.folds)
    recipe = recipe_of(chosen.name, fields.task(), chosen.init[0], of_start, [*scheduled.assignments(), *of_training])
    whole = Job(recipe=recipe, examples=examples, out=trained, init=tuple(chosen.init), fetch=fetch)
    planned = plan(whole, scheduled, folds)
    check_measured([part.held_out for part in planned.parts], read_documents([*map(DataSet, pages)]))
    return planned


def _answers(parts: Sequence[Part], chosen: TrainFolderOptions) -> FieldEvaluation:
    schema = document_fields_of(parts[0].trial.job.recipe.task)
    return cross_validate(schema, _pages(chosen), {str(part.trial.job.out): part.held_out for part in parts})


def _write_queue(answered: FieldEvaluation, labels: ModelLabels, training: str, chosen: TrainFolderOptions) -> int:
    """Write documents whose answers differ from a model's values as a review of folder `training`. Returns how many."""
    differing = disagreements(_pages(chosen), answered, labels, (chosen.name, training))
    folder = sources.local_path(sources.absolute(_place(chosen, _QUEUE)))
    if differing and folder is None:
        terminal.say(f"{len(differing)} documents differ from their values; to review them, give a local --out")
    if not differing or folder is None:
        return 0
    write_queue(folder, differing)
    return len(differing)


def _with_thresholds(whole: Job, measured: FieldEvaluation, parent: Run, chosen: TrainFolderOptions) -> str:
    """The folder of the model of all documents, with thresholds and metrics of the answers that were measured."""
    loaded, out = checkpoint.load(whole.out), _place(chosen, "model")
    schema = choose_thresholds(measured.schema, measured.judged, measured.scores, _GOAL)
    metrics = loaded.metrics | {f"dev.{name}": value for name, value in measured.metrics().items()}
    checkpoint.save(out, replace(with_thresholds(loaded, schema), metrics=metrics))
    checkpoint.copy_example(whole.out, out)
    parent.note(out)
    field_report.show_thresholds(measured, schema, _GOAL)
    return out


def _place(chosen: TrainFolderOptions, step: str) -> str:
    return sources.join(chosen.out, step)


def _overrides(chosen: TrainFolderOptions, *, of_ingest: bool) -> list[str]:
    """The assignments of `--set` to keys of ingest recipes, or the others, which are of the training recipe."""
    keys = {one.name for one in dataclasses.fields(IngestRecipe)}
    return [one for one in chosen.overrides if (re.split(r"[.=]", one.strip())[0] in keys) == of_ingest]


def _ingest_keys(reader: str, chosen: TrainFolderOptions) -> list[str]:
    """The assignments of `--set` to keys of the ingest recipe of a reader. `from_model` is of tables of values only."""
    given = _overrides(chosen, of_ingest=True)
    return given if reader == "values" else [one for one in given if not one.strip().startswith("from_model")]


def _wanted(text: str) -> dict[str, str]:
    """The names and types of `--fields`; an empty type is inferred. Raises InputError for a type that is none."""
    wanted = {
        name.strip(): kind.strip() for name, _, kind in (one.partition(":") for one in text.split(",")) if name.strip()
    }
    if text and len(wanted) < len([one for one in text.split(",") if one.strip()]):
        raise InputError(f"--fields names a field twice, or none: {text}; name each field once")
    if unknown := [kind for kind in wanted.values() if kind and kind not in TYPES]:
        raise InputError(f"--fields has the type {unknown[0]!r}; types are {', '.join(TYPES)}")
    return wanted


def _name(chosen: TrainFolderOptions) -> str:
    """The name of the registered model. Raises InputError for one that MLflow refuses."""
    if not chosen.name:
        return _NOT_IN_NAMES.sub("-", sources.name(sources.absolute(chosen.folders[0]))).strip("-")
    if _NOT_IN_NAMES.search(chosen.name):
        raise InputError(f"--name is {chosen.name!r}; it may have letters, digits, '_', '-' and '.'")
    return chosen.name


def _say_step(number: int, what: str) -> None:
    terminal.say(f"\nstep {number} of {_STEPS}: {what}")
