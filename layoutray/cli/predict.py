"""`layoutray predict`: extract from a folder of files, or from ingested pages, in bulk."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import RecipeOptions, option
from layoutray.cli.verbs import needs_extra
from layoutray.errors import InputError
from layoutray.recipe.ingest import load_ingest

if TYPE_CHECKING:
    from layoutray.checkpoint import Checkpoint, Fetch
    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster.answer_job import JobIdentity
    from layoutray.cluster.predict import Prediction
    from layoutray.cluster.write import WrittenTexts
    from layoutray.document import Page
    from layoutray.recipe.ingest import IngestRecipe


_OPTIONS = {
    "checkpoint": options.checkpoint(),
    "source": option(help="folder of images and PDFs, or a folder written by `layoutray ingest`"),
    "out": option(
        "--out",
        required=True,
        help="folder for the answers: parquet/, jsonl/, and fields/ for fields of documents; a killed job resumes",
    ),
    "recipe": option("--recipe", help="ingest recipe, used if SOURCE is not ingested yet (default: %(default)s)"),
    "workers": option(
        "--workers",
        type=checked.positive,
        help="model replicas, and processes that read pages (default: 1 replica, 1 reading process per core)",
    ),
    "gpus": options.gpus("replica"),
    "routes": option(
        "--route",
        action="append",
        default=[],
        metavar="KIND=MODEL",
        help="answer the documents of this kind, which a model of task page_labels finds in packets, with MODEL; "
        "repeatable",
    ),
    "beams": options.beams(),
    "csv": option(
        "--csv",
        type=checked.report_name,
        metavar="FILE",
        help="also write all values into this file or s3:// address: document, field, value, confidence",
    ),
    "tracking_uri": options.tracking_uri(),
    "sample": options.sample(),
    "price": options.price(),
    **options.declared(RecipeOptions),
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = options.parse_for("predict", _OPTIONS, arguments, predict)
    plan_only, sample, price = (given.pop(name) for name in ("dry_run", "sample", "price"))
    if plan_only:
        return _show_plan(given, sample, price)
    sys.stdout.write(json.dumps(asdict(predict(**given))) + "\n")
    return 0


def _show_plan(given: Mapping[str, Any], sample: int, price: float | None) -> int:
    from layoutray.cli.shared import cost
    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster.ingest import plan_ingest
    from layoutray.store import shards
    from layoutray.store.data_set import DataSet, is_ingested
    from layoutray.store.schema import PAGES

    recipe = load_ingest(given["recipe"], given["overrides"])
    source, out = _places(given["source"], given["out"])
    name, _, loaded = load(given["checkpoint"], given["tracking_uri"])
    _check_answers(loaded)
    plan: dict[str, Any] = {"checkpoint": name, "source": source, "answers": out}
    if is_ingested(source):
        plan["pages"] = sum(table.num_rows for table in shards.scan(DataSet(source).pages, PAGES, ["page"]))
    else:
        with ProgressDisplay() as progress:
            tasks = plan_ingest(source, recipe, progress=progress).page_tasks
        plan |= {"documents": len({task.doc_id for task in tasks}), "pages": len(tasks)}
        if tasks and sample:
            plan["estimate"] = cost.of_pages(tasks, recipe, sample, given["workers"], price, answering(loaded))
    return terminal.show_plan(recipe, plan)


@needs_extra("predict")
def predict(
    checkpoint: str | Path,
    source: str | Path,
    *,
    out: str | Path,
    recipe: str = "ingest-folder",
    workers: int | None = None,
    gpus: float | None = None,
    routes: Sequence[str] = (),
    beams: int = 1,
    csv: str | Path | None = None,
    tracking_uri: str = "",
    overrides: Sequence[str] = (),
) -> "Prediction | WrittenTexts":
    """Answer all pages of a folder of files, or of a folder that `ingest` has written.

    An interrupted call is continued by the next one. Starts Ray, or joins the cluster at RAY_ADDRESS.

    Args:
        checkpoint: folder, s3:// address, or `models:/NAME@ALIAS`.
        source: folder of images and PDFs, or a folder written by `ingest`.
        out: folder for the answers.
        recipe: ingest recipe for a `source` that is not ingested yet.
        workers: model replicas, and processes that read files; None: one replica, one reading process per core.
        gpus: GPUs of each replica; None: 1 if there is one for each, else 0.
        routes: `KIND=MODEL` assignments, see docs/packets.md; the answers of MODEL are in `out/answers/KIND`.
        beams: beam width of text-generating models; 1 is greedy.
        csv: file or address for a table of all values.
        tracking_uri: MLflow server or store for `models:/`; empty: MLFLOW_TRACKING_URI, else ./mlflow.db.
        overrides: `KEY=VALUE` assignments to keys of the ingest recipe.

    Returns:
        Counts of the answers in `out`; of a text-generating model, those of its texts.

    Raises:
        InputError: if the registry does not have the model, `out` has answers of another job, or there is no document.
        CheckpointError: if the checkpoint is incomplete.
    """
    ingest_recipe, (root, folder) = load_ingest(recipe, overrides), _places(source, out)
    name, fetch, loaded = load(str(checkpoint), tracking_uri)
    by_kind = _by_kind(loaded, routes, tracking_uri)
    # Imported late because Ray takes seconds, for which neither `--help` nor a mistake shall wait.
    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster import predict as on_ray
    from layoutray.cluster.answer_job import JobIdentity
    from layoutray.cluster.connect import connect
    from layoutray.cluster.placement import Replicas
    from layoutray.store.output_lock import working_on

    identity, replicas = JobIdentity.of(loaded, root, beams), Replicas(workers or 1, gpus, fetch)
    with working_on(folder), ProgressDisplay() as progress:
        _claim(identity, root, folder, ingest_recipe)
        with connect():
            ingested = _ingested(root, folder, ingest_recipe, workers, progress)
            done = on_ray.predict(name, ingested, folder, identity=identity, replicas=replicas, progress=progress)
    _summarise(done, ingested, str(out), loaded)
    _write_table(folder, csv)
    for model, pages, answers in _split(loaded, ingested, folder, by_kind):
        predict(model, pages, out=answers, workers=workers, gpus=gpus, tracking_uri=tracking_uri)
    return done


def _by_kind(loaded: "Checkpoint", routes: Sequence[str], tracking_uri: str) -> dict[str, str]:
    """The model of each kind. Raises CheckpointError if a model answers nothing, InputError for a wrong `--route`."""
    models: dict[str, str] = {}
    _check_answers(loaded)
    for route in routes:
        kind, _, model = route.partition("=")
        known = sorted({label[2:] for label in loaded.labels}) if _labels_pages(loaded) else []
        if kind not in known or kind in models or not model:
            kinds = (
                ", ".join(known) or f"none, because {loaded.recipe.name} is a model of task {loaded.recipe.task.name}"
            )
            raise InputError(f"--route {route} must be KIND=MODEL, each kind once; the kinds are {kinds}")
        _check_answers(load(model, tracking_uri)[2])
        models[kind] = model
    return models


def _labels_pages(loaded: "Checkpoint") -> bool:
    from layoutray.tasks import LabelsPages

    return isinstance(loaded.recipe.task, LabelsPages)


def _split(loaded: "Checkpoint", ingested: str, folder: str, models: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Split packets, if a model of pages answered. Gives model, data set and folder of answers of each routed kind."""
    from layoutray.prepare.split_packets import split_packets
    from layoutray.store import sources
    from layoutray.store.answer_set import PACKETS, AnswerSet
    from layoutray.store.data_set import DataSet

    if not _labels_pages(loaded):
        return []
    found = split_packets(AnswerSet(folder), DataSet(ingested))
    counts = ", ".join(f"{count} {kind}" for kind, count in (*found.documents.items(), *found.others.items()))
    terminal.say(f"documents in the packets: {counts or 'none'}; see {PACKETS} in {folder}")
    routed = {kind: pages for kind, pages in found.kinds.items() if kind in models}
    return [
        (models[kind], pages, sources.join(folder, "answers", sources.name(pages))) for kind, pages in routed.items()
    ]


def answering(loaded: "Checkpoint") -> "Callable[[Page], object] | None":
    """Answers a page as a model replica does, for an estimate; None for a model that does not tag words."""
    import torch

    from layoutray.devices import CPU
    from layoutray.inference.extractor import Extractor
    from layoutray.tasks import TagsWords

    if not isinstance(loaded.recipe.task, TagsWords):
        return None
    torch.set_num_threads(1)
    extractor = Extractor(loaded, loaded.recipe.name, CPU)
    return lambda page: extractor.extract([page])


def _places(source: str | Path, out: str | Path) -> tuple[str, str]:
    """The absolute paths or addresses of files and answers. Raises InputError if one of them cannot be used."""
    from layoutray.cli.shared import output_folder
    from layoutray.store import folder_kind

    return output_folder.existing(source), output_folder.usable(out, folder_kind.ANSWERS)


def _claim(identity: "JobIdentity", source: str, out: str, recipe: "IngestRecipe") -> None:
    """Make `out` the folder of this job, once it is known that there is something to read, and what reads it."""
    from layoutray.prepare.discovery import check_source
    from layoutray.store.data_set import is_ingested

    if not is_ingested(source):
        check_source(source, recipe)
    identity.claim(out)


def _write_table(answers: str, file: str | Path | None) -> None:
    from layoutray.formats import spreadsheet
    from layoutray.store import shards
    from layoutray.store.answer_set import AnswerSet

    if file is not None:
        shards.write_file(spreadsheet.answer_table(AnswerSet(answers)), str(file))
        terminal.say(f"values: {file}")


def load(checkpoint: str, tracking_uri: str) -> "tuple[str, Fetch, Checkpoint]":
    """The checkpoint, loaded; its name for other processes, and what gives them its folder."""
    from layoutray import checkpoint as checkpoints
    from layoutray.tracking import registered, stores

    uri = tracking_uri or stores.default_uri()
    name, fetch = registered.resolve(checkpoint, uri), registered.fetcher(uri)
    return name, fetch, checkpoints.load(fetch(name))


def _check_answers(loaded: "Checkpoint") -> None:
    """Raise CheckpointError if the model answers neither pages nor documents."""
    from layoutray.inference.extractor import Tagging
    from layoutray.tasks import WritesTexts

    if not isinstance(loaded.recipe.task, WritesTexts):
        Tagging.of(loaded)


def _ingested(
    source: str, out: str, ingest_recipe: "IngestRecipe", workers: int | None, progress: "ProgressDisplay"
) -> str:
    """The folder of the ingested pages: the source itself, or `ingested` below the output folder."""
    from layoutray.cluster.ingest import ingest
    from layoutray.store import sources
    from layoutray.store.data_set import is_ingested

    if is_ingested(source):
        return source
    ingested = sources.join(out, "ingested")
    ingest(source, ingested, ingest_recipe, workers=workers, progress=progress)
    return ingested


def _summarise(done: "Prediction | WrittenTexts", ingested: str, out: str, loaded: "Checkpoint") -> None:
    from layoutray.cluster.predict import Prediction
    from layoutray.document.word_source import other_words
    from layoutray.prepare import origin

    # Documents without words fail too, but are no dead letters.
    failures = f"{done.failed} failed" + (f" (see `layoutray dead-letters list {ingested}`)" if done.failed else "")
    if isinstance(done, Prediction):
        terminal.say(f"{done.answered} pages answered, {failures}; {done.entities} entities; answers in {out}")
    else:
        terminal.say(f"{done.answered} documents answered, {failures}; texts in {out}")
        if done.cut:
            terminal.say(f"{done.cut} of them were truncated: compare the columns `tokens` and `tokens_read`")
    if not done.new:
        terminal.say("there was nothing left to answer")
    if done.fields or done.without_fields:
        terminal.say(f"{done.fields} field values; {done.without_fields} documents without any")
    for warning in other_words(origin.word_source_counts([ingested]), loaded.learnt):
        terminal.say(warning.message)
