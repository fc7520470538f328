"""Trains several recipes on labelled pages and reports which is the best, if the data can tell."""

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from layoutray import config
from layoutray.checkpoint import read_vocabulary
from layoutray.cli import encode
from layoutray.cli.compare import CompareOptions
from layoutray.cli.shared import cost, equal_minutes, terminal, tracked_training, trials
from layoutray.cli.shared.measured import MeasuredPages
from layoutray.cli.shared.output_folder import usable
from layoutray.cli.shared.trials import Trial
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.encode import encode as encode_pages
from layoutray.cluster.encode import encoding_settings
from layoutray.compare.compared_model import ComparedModel, kept_comparison
from layoutray.compare.comparison import Comparison
from layoutray.compare.comparison_page import comparison_page
from layoutray.errors import InputError
from layoutray.evaluation.capabilities import counted_metric
from layoutray.evaluation.leakage import document_words, known
from layoutray.evaluation.page_selection import PageSelection
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import json_text, shards, sources
from layoutray.store.output_lock import working_on
from layoutray.tasks import document_fields_of
from layoutray.tracking import registered, runs
from layoutray.tracking.opening import encoder_of
from layoutray.tracking.runs import Opening, Run
from layoutray.training.job import Job


def run(chosen: CompareOptions) -> int:
    tracked_training.check_tracking(chosen.tracking_uri)
    selection = chosen.selection()
    selection.require_pages(selection.num_pages)
    compared, out = _jobs(chosen), usable(chosen.out)
    for job in compared.values():
        for start in job.init:
            read_vocabulary(job.fetch(start))  # a missing checkpoint is found before pages are encoded
    if chosen.dry_run:
        return _show_plan(compared, selection, chosen)
    with working_on(out):
        _compare(compared, selection, chosen)
    return 0


def _show_plan(compared: Mapping[str, Job], selection: PageSelection, chosen: CompareOptions) -> int:
    first, trainings = next(iter(compared.values())).recipe, len(compared) * len(chosen.distinct_seeds)
    plan: dict[str, Any] = {
        "pages": chosen.pages,
        f"{selection.name} pages": selection.num_pages,
        "recipes": [*compared],
        "seeds": chosen.distinct_seeds,
        "trainings": trainings,
        "steps": None if chosen.minutes else trainings * first.train.steps,
        "minutes": chosen.minutes and trainings * chosen.minutes,
    }
    if chosen.price and chosen.minutes:
        hours = plan["minutes"] / 60 * chosen.share().num_threads
        plan["estimate"] = cost.shown(hours, None, num_cores(), chosen.price)
    elif chosen.price:
        raise InputError(
            "the time of a step is not known before the pages are encoded, so --price needs --minutes; for a number of "
            "steps, encode the pages and call `layoutray train --dry-run --price` for each recipe"
        )
    return terminal.show_plan(first, plan | vars(chosen.share()))


def _compare(compared: Mapping[str, Job], selection: PageSelection, chosen: CompareOptions) -> None:
    trials.claim(chosen.out, {"compared": "recipes"}, "trials of another verb")
    pages = MeasuredPages(selection)
    parent = _open_parent(compared, pages, chosen)
    with parent.failed_on_error(), connect():
        planned = _planned(compared, chosen)
        every = [trial for of_recipe in planned.values() for trial in of_recipe]
        trials.train_every(every, trials.check(every), parent, chosen)
        models = {
            name: [_measured(trial.job, pages, chosen) for trial in of_recipe] for name, of_recipe in planned.items()
        }
        training, measured = (
            {doc_id: words for one in selection.data_sets for doc_id, words in document_words(one, [split]).items()}
            for split in ("train", selection.split)
        )
        _report(Comparison(models, known(measured, training).templates), pages, chosen, parent)
    parent.finish()


def _jobs(chosen: CompareOptions) -> dict[str, Job]:
    """The training of each recipe by the recipe's name, without a seed; all are resolved before anything is trained."""
    starts = _starts(chosen.init)
    of_all = starts.pop("", [])
    out, fetch = sources.absolute(chosen.out), registered.fetcher(chosen.tracking_uri)
    jobs: dict[str, Job] = {}
    for file, name, stated in _recipes(chosen):
        init = tracked_training.starting_checkpoints([*of_all, *starts.pop(name, [])], chosen.tracking_uri)
        path = stated.tokenizer.path or (init[0] if init else "")
        recipe = replace(stated, name=name, tokenizer=replace(stated.tokenizer, path=path))
        if "/" in name:
            raise InputError(f"a recipe is called {name!r}, which names a folder and so has no '/'; give {file}=NAME")
        if name in jobs:
            raise InputError(f"two recipes are called {name!r}; give each a name of its own: {file}=NAME")
        # Recipes that differ in nothing on which examples depend share them.
        settings = json.dumps(encoding_settings(recipe), sort_keys=True)
        examples = sources.join(out, f"examples-{hashlib.sha256(settings.encode()).hexdigest()[:12]}")
        jobs[name] = Job(recipe=recipe, examples=examples, out=sources.join(out, name), init=init, fetch=fetch)
    if len(jobs) < 2:
        raise InputError("there is one recipe and one architecture; give two or more of either to compare")
    if starts:
        raise InputError(f"--init names {', '.join(starts)}; the compared recipes are {', '.join(jobs)}")
    _check_comparable({name: job.recipe for name, job in jobs.items()}, chosen.minutes)
    return jobs


def _recipes(chosen: CompareOptions) -> Iterator[tuple[str, str, Recipe]]:
    """File, name and content of each recipe; of a single file, one recipe for each architecture."""
    overrides = [*chosen.overrides, *([f"train.steps={chosen.steps}"] if chosen.steps else [])]
    if len(chosen.recipes) > 1:
        for text in chosen.recipes:
            file, _, name = text.partition("=")
            loaded = recipes.load(file, overrides)
            yield file, name or loaded.name, loaded
        return
    of_model = config.override({}, chosen.overrides).get("model", {})
    file = chosen.recipes[0].partition("=")[0]
    loaded = recipes.load(file, [one for one in overrides if not one.startswith("model.")])
    for arch in chosen.architectures:
        yield file, arch, recipes.with_architecture(loaded, arch, chosen.size, of_model)


def _starts(init: Sequence[str]) -> dict[str, list[str]]:
    """The checkpoints that `--init` gives to each recipe, and to all recipes under the name ""."""
    starts: dict[str, list[str]] = defaultdict(list)
    for text in init:
        name, separator, model = text.partition("=")
        if separator and not (name and model):
            raise InputError(
                f"--init {text!r} must be CHECKPOINT, or NAME=CHECKPOINT with the name of a compared recipe"
            )
        starts[name if separator else ""].append(model if separator else name)
    return starts


def _check_comparable(compared: Mapping[str, Recipe], minutes: float | None) -> None:
    """Raises InputError unless all recipes train equally long for something that the same F1 measures."""
    steps = {name: recipe.train.steps for name, recipe in compared.items()}
    if minutes is None and len(set(steps.values())) > 1:
        stated = ", ".join(f"{name} {count}" for name, count in steps.items())
        raise InputError(
            f"the recipes have different train.steps ({stated}); give one number for all with --steps, or --minutes"
        )
    for name, recipe in compared.items():
        if counted_metric(recipe.task) is None:
            raise InputError(
                f"{name} trains task {recipe.task.name}, which is not measured by an F1 of fields or entities; "
                "compare recipes of tasks such as entities_bioes"
            )
    wanted = {
        name: (counted_metric(recipe.task), {*document_fields_of(recipe.task)}) for name, recipe in compared.items()
    }
    (first, same), *others = wanted.items()
    for name, other in others:
        if other != same:
            raise InputError(f"{first} and {name} have different [task.fields]; give all recipes the same fields")


def _planned(jobs: Mapping[str, Job], chosen: CompareOptions) -> dict[str, list[Trial]]:
    """Encode the pages for each recipe, and time its steps if asked to. Returns its trials, one for each seed."""
    pages = [sources.absolute(folder) for folder in chosen.pages]
    for job in jobs.values():
        encode_pages(encode.resolved(job.recipe, chosen.tracking_uri), pages, job.examples, fetch=job.fetch)
    if chosen.minutes is not None:
        jobs = equal_minutes.lasting(chosen.minutes, jobs, sources.join(sources.absolute(chosen.out), "timed"), chosen)
    varied = {seed: f"seed={seed}" for seed in chosen.distinct_seeds}
    return {
        name: [
            Trial(replace(job, recipe=replace(job.recipe, seed=seed), out=sources.join(job.out, text)), (text,))
            for seed, text in varied.items()
        ]
        for name, job in jobs.items()
    }


def _open_parent(jobs: Mapping[str, Job], pages: MeasuredPages, chosen: CompareOptions) -> Run:
    """The run of the whole comparison: that of an earlier call with this folder, or a new one."""
    length = {"minutes": chosen.minutes} if chosen.minutes else {}
    names = {"recipes": ", ".join(jobs), "seeds": chosen.distinct_seeds, "pages": ", ".join(chosen.pages)}
    tasks = dict.fromkeys(job.recipe.task.name for job in jobs.values())
    encoders = dict.fromkeys(encoder_of(job.recipe) for job in jobs.values())
    tags = {"task": ", ".join(tasks), "arch": ", ".join(encoders), "data": pages.documents, "words": pages.words}
    known = Opening(
        experiment=chosen.experiment or pages.documents,
        name="compare",
        parameters=length | names,
        tags=tags,
        data=pages.data,
        command=chosen.command,
    )
    return runs.open_run(chosen.out, chosen.tracking_uri, known)


def _measured(job: Job, pages: MeasuredPages, chosen: CompareOptions) -> ComparedModel:
    """What is compared of a trained model; also in the run of its training."""
    model = kept_comparison(str(job.out), pages.selection)
    if run := runs.noted(job.out, chosen.tracking_uri):
        pages.log(run, run.checkpoint_step, model.metrics())
    return model


def _report(comparison: Comparison, pages: MeasuredPages, chosen: CompareOptions, parent: Run) -> None:
    """Show the comparison; write `comparison.json` and `report.html`, also into the run."""
    rows = comparison.recipes()
    shown = [(one.name, one.f1.value, one.f1.low, one.f1.high, one.milliseconds, one.parameters) for one in rows]
    columns = ("recipe", comparison.metric, "low", "high", "ms a page", "parameters")
    terminal.show_table(f"{len(rows)} recipes on {chosen.selection().name}", columns, shown)
    terminal.say(comparison.verdict)
    report = {"metric": comparison.metric, "verdict": comparison.verdict, "recipes": [asdict(one) for one in rows]}
    files = {
        "comparison.json": json_text.dumps(report, indent=2) + "\n",
        "report.html": comparison_page(comparison, chosen.selection()),
    }
    for name, text in files.items():
        shards.write_bytes(text.encode(), chosen.out, name)
        parent.client.log_text(parent.run_id, text, name)
    by_name = {f"{comparison.metric}.{one.name}": one.f1.value for one in rows}
    best = {comparison.metric: rows[0].f1.value}
    parent.log_metrics(0, {pages.metric(name): value for name, value in (best | by_name).items()})
    parent.describe()
    terminal.say(f"report: {sources.join(chosen.out, 'report.html')}")
    sys.stdout.write(files["comparison.json"])
