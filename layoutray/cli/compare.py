"""`layoutray compare`: train several recipes on labelled pages and report which is the best, if the data can tell."""

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from layoutray import config
from layoutray.cli import encode
from layoutray.cli.shared import equal_minutes, options, terminal, tracked_training, trials
from layoutray.cli.shared.evaluation_options import MeasuredPages, SelectionOptions, add_selection_options
from layoutray.cli.shared.trials import SeedOptions, Trial
from layoutray.cluster.connect import connect
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
from layoutray.tasks import document_fields_of
from layoutray.tracking import registered, runs
from layoutray.tracking.opening import encoder_of
from layoutray.tracking.runs import Opening, Run
from layoutray.training.job import Job

_ARCHITECTURES = (
    *("bert", "layoutlm", "lilt", "layoutlmv3"),
    *("lambert", "formnet", "skimformer", "skim_embeddings", "pyramidion"),
)


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SeedOptions, SelectionOptions):
    """Options of `layoutray compare`.

    Attributes:
        recipes: `RECIPE` or `RECIPE=NAME`. A single one is trained with each of `architectures`.
        architectures: see `recipe.with_architecture`.
        size: of each architecture.
        init: `CHECKPOINT` of all recipes, or `NAME=CHECKPOINT` of the recipe called `NAME`.
        steps: of every training; None takes those of the recipes, which must agree.
        minutes: of every training, instead of steps; see `equal_minutes`.
    """

    recipes: Sequence[str]
    architectures: Sequence[str]
    size: str
    steps: int | None
    minutes: float | None


@dataclass(frozen=True)
class _Contender:
    """One of the compared recipes, without a seed.

    Attributes:
        init: checkpoints that it starts from.
    """

    recipe: Recipe
    init: tuple[str, ...]

    @property
    def examples(self) -> str:
        """Name of the folder of its examples. Recipes that differ in nothing on which examples depend share it."""
        settings = json.dumps(encoding_settings(self.recipe), sort_keys=True)
        return f"examples-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    selection = chosen.selection()
    selection.require_pages(selection.num_pages)
    contenders = _contenders(chosen)
    if chosen.dry_run:
        plan = {"pages": chosen.pages, "recipes": [*contenders], "seeds": chosen.distinct_seeds, **vars(chosen.share())}
        return terminal.show_plan(next(iter(contenders.values())).recipe, plan)
    trials.claim(chosen.out, {"compared": "recipes"}, "trials of another verb")
    pages = MeasuredPages(selection)
    parent = _open_parent(contenders, pages, chosen)
    with parent.failed_on_error(), connect():
        planned = _planned(contenders, chosen)
        every = [trial for of_recipe in planned.values() for trial in of_recipe]
        trials.train_every(every, trials.check(every), parent, chosen)
        models = {
            name: [_measured(trial.job, pages, chosen) for trial in of_recipe] for name, of_recipe in planned.items()
        }
        _report(Comparison(models, _known_templates(selection)), pages, chosen, parent)
    parent.finish()
    return 0


def _parse(arguments: Sequence[str] | None) -> CompareOptions:
    parser = options.parser("compare")
    add_selection_options(parser, folders=1)
    parser.set_defaults(split="dev")
    parser.add_argument(
        "recipes",
        nargs="+",
        metavar="RECIPE[=NAME]",
        help="training recipe: the name of a shipped one, or a .toml file; NAME is its name in the report; a single "
        "recipe is trained with each of --architectures in place of its own",
    )
    parser.add_argument(
        "--architectures",
        nargs="+",
        default=_ARCHITECTURES,
        metavar="NAME",
        help="architectures for a single recipe, or model types of the transformers library (default: "
        f"{' '.join(_ARCHITECTURES)})",
    )
    parser.add_argument(
        "--size", default="small", help="of --architectures; minilm fits a MiniLM as --init (default: %(default)s)"
    )
    parser.add_argument(
        "--init",
        action="append",
        default=[],
        metavar="[NAME=]CHECKPOINT",
        help="start all recipes, or the one named NAME, from this folder, s3:// address or models:/NAME@ALIAS, also "
        "with its vocabulary if the recipe names none; repeatable (default: train from scratch)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--steps", type=options.positive, help="of every training (default: those of the recipes, if they agree)"
    )
    length.add_argument(
        "--minutes",
        type=options.positive_number,
        help="of every training: each has the number of steps that fit into this time on this machine",
    )
    trials.add_seeds(parser, "of the trainings of each recipe")
    trials.add_trial_options(parser)
    return options.parse_training(parser, arguments, CompareOptions)


def _contenders(chosen: CompareOptions) -> dict[str, _Contender]:
    """The recipes by name, all resolved before anything is trained."""
    starts = _starts(chosen.init)
    of_all = starts.pop("", [])
    contenders: dict[str, _Contender] = {}
    for file, name, stated in _recipes(chosen):
        init = tracked_training.starting_checkpoints([*of_all, *starts.pop(name, [])], chosen.tracking_uri)
        path = stated.tokenizer.path or (init[0] if init else "")
        loaded = replace(stated, name=name, tokenizer=replace(stated.tokenizer, path=path))
        if "/" in name:
            raise InputError(f"a recipe is called {name!r}, which names a folder and so has no '/'; give {file}=NAME")
        if name in contenders:
            raise InputError(f"two recipes are called {name!r}; give each a name of its own: {file}=NAME")
        contenders[name] = _Contender(loaded, init)
    if len(contenders) < 2:
        raise InputError("there is one recipe and one architecture; give two or more of either to compare")
    if starts:
        raise InputError(f"--init names {', '.join(starts)}; the compared recipes are {', '.join(contenders)}")
    _check_comparable(contenders, chosen.minutes)
    return contenders


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


def _check_comparable(contenders: Mapping[str, _Contender], minutes: float | None) -> None:
    """Raises InputError unless all recipes train equally long for something that the same F1 measures."""
    steps = {name: one.recipe.train.steps for name, one in contenders.items()}
    if minutes is None and len(set(steps.values())) > 1:
        stated = ", ".join(f"{name} {count}" for name, count in steps.items())
        raise InputError(
            f"the recipes have different train.steps ({stated}); give one number for all with --steps, or --minutes"
        )
    wanted = {
        name: (counted_metric(one.recipe.task), {*document_fields_of(one.recipe.task)})
        for name, one in contenders.items()
    }
    (first, same), *others = wanted.items()
    for name, (metric, _) in wanted.items():
        if metric is None:
            raise InputError(
                f"{name} trains task {contenders[name].recipe.task.name}, which is not measured by an F1 of fields or "
                "entities; compare recipes of tasks such as entities_bioes"
            )
    for name, other in others:
        if other != same:
            raise InputError(f"{first} and {name} have different [task.fields]; give all recipes the same fields")


def _planned(contenders: Mapping[str, _Contender], chosen: CompareOptions) -> dict[str, list[Trial]]:
    """Encode the pages for each recipe, and time its steps if asked to. Returns its trials, one for each seed."""
    pages, fetch = [sources.absolute(folder) for folder in chosen.pages], registered.fetcher(chosen.tracking_uri)
    out = sources.absolute(chosen.out)
    first: dict[str, Job] = {}
    for name, one in contenders.items():
        examples = sources.join(out, one.examples)
        encode_pages(encode.resolved(one.recipe, chosen.tracking_uri), pages, examples, fetch=fetch)
        first[name] = Job(recipe=one.recipe, examples=examples, out=sources.join(out, name), init=one.init, fetch=fetch)
    if chosen.minutes is not None:
        timed = equal_minutes.lasting(chosen.minutes, first, sources.join(out, "timed"), chosen)
        first = {name: replace(job, recipe=timed[name]) for name, job in first.items()}
    varied = {seed: f"seed={seed}" for seed in chosen.distinct_seeds}
    return {
        name: [
            Trial(replace(job, recipe=replace(job.recipe, seed=seed), out=sources.join(job.out, text)), (text,))
            for seed, text in varied.items()
        ]
        for name, job in first.items()
    }


def _open_parent(contenders: Mapping[str, _Contender], pages: MeasuredPages, chosen: CompareOptions) -> Run:
    """The run of the whole comparison: that of an earlier call with this folder, or a new one."""
    length = {"minutes": chosen.minutes} if chosen.minutes else {}
    names = {"recipes": ", ".join(contenders), "seeds": chosen.distinct_seeds, "pages": ", ".join(chosen.pages)}
    tasks = dict.fromkeys(one.recipe.task.name for one in contenders.values())
    encoders = dict.fromkeys(encoder_of(one.recipe) for one in contenders.values())
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


def _known_templates(selection: PageSelection) -> frozenset[str]:
    """Ids of the measured documents whose template also occurs in training."""
    training, measured = (
        {doc_id: words for one in selection.data_sets for doc_id, words in document_words(one, [split]).items()}
        for split in ("train", selection.split)
    )
    return known(measured, training).templates


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
