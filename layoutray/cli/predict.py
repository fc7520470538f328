"""`layoutray predict`: extract from a folder of files, or from ingested pages, in bulk."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from layoutray import checkpoint
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import RecipeOptions
from layoutray.cli.shared.progress import ProgressDisplay
from layoutray.cluster.answer_job import JobIdentity
from layoutray.cluster.connect import connect
from layoutray.cluster.ingest import ingest
from layoutray.cluster.placement import Replicas
from layoutray.cluster.predict import Prediction, predict
from layoutray.cluster.write import WrittenTexts, write
from layoutray.recipe.ingest import IngestRecipe, load_ingest
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.tasks import WritesTexts
from layoutray.tracking import registered


@dataclass(frozen=True, kw_only=True)
class PredictOptions(RecipeOptions):
    """Options of `layoutray predict`.

    Attributes:
        recipe: the ingest recipe for a `source` that is not ingested yet.
        workers: model replicas, and processes that read a `source` that is not ingested yet; None starts one replica,
            and one reading process per core.
        gpus: of each replica.
    """

    checkpoint: str
    source: str
    out: str
    recipe: str
    workers: int | None
    gpus: float | None
    beams: int
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    ingest_recipe = load_ingest(chosen.recipe, chosen.overrides)
    if chosen.dry_run:
        return terminal.show_plan(
            ingest_recipe, {"checkpoint": chosen.checkpoint, "source": chosen.source, "answers": chosen.out}
        )
    name, fetch = registered.resolve(chosen.checkpoint, chosen.tracking_uri), registered.fetcher(chosen.tracking_uri)
    loaded = checkpoint.load(fetch(name))
    source, out = sources.absolute(chosen.source), sources.absolute(chosen.out)
    identity = JobIdentity.of(loaded, source, chosen.beams)
    identity.claim(out)  # before a long ingest
    with ProgressDisplay() as progress, connect():
        ingested = _ingested(source, out, ingest_recipe, chosen.workers, progress)
        replicas = Replicas(chosen.workers or 1, chosen.gpus, fetch)
        if isinstance(loaded.recipe.task, WritesTexts):
            done = write(name, ingested, out, identity=identity, replicas=replicas, progress=progress)
            _summarise_texts(done, ingested, chosen.out)
        else:
            done = predict(name, ingested, out, identity=identity, replicas=replicas, progress=progress)
            _summarise_pages(done, ingested, chosen.out)
    if not done.new:
        terminal.say("there was nothing left to answer")
    if done.fields or done.without_fields:
        terminal.say(f"{done.fields} field values; {done.without_fields} documents without any")
    sys.stdout.write(json.dumps(asdict(done)) + "\n")
    return 0


def _parse(arguments: Sequence[str] | None) -> PredictOptions:
    parser = options.parser("predict")
    options.add_checkpoint(parser)
    parser.add_argument("source", help="folder of images and PDFs, or a folder written by `layoutray ingest`")
    parser.add_argument(
        "--out",
        required=True,
        help="folder for the answers: parquet/, jsonl/, and fields/ for fields of documents; a killed job resumes",
    )
    parser.add_argument(
        "--recipe",
        default="ingest-folder",
        help="ingest recipe, used if SOURCE is not ingested yet (default: %(default)s)",
    )
    options.add_workers(
        parser, None, "model replicas, and processes that read pages (default: 1 replica, 1 reading process per core)"
    )
    options.add_gpus(parser, "replica")
    options.add_beams(parser)
    options.add_tracking_uri(parser)
    options.add_recipe_options(parser)
    return options.parse(parser, arguments, PredictOptions)


def _ingested(
    source: str, out: str, ingest_recipe: IngestRecipe, workers: int | None, progress: ProgressDisplay
) -> str:
    """The folder of the ingested pages: the source itself, or `ingested` below the output folder."""
    if sources.exists(DataSet(source).manifest):
        return source
    ingested = sources.join(out, "ingested")
    ingest(source, ingested, ingest_recipe, workers=workers, progress=progress)
    return ingested


def _summarise_texts(done: WrittenTexts, ingested: str, out: str) -> None:
    terminal.say(f"{done.answered} documents answered, {_failures(done.failed, ingested)}; texts in {out}")
    if done.cut:
        terminal.say(f"{done.cut} of them were truncated: compare the columns `tokens` and `tokens_read`")


def _summarise_pages(done: Prediction, ingested: str, out: str) -> None:
    failures = _failures(done.failed, ingested)
    terminal.say(f"{done.answered} pages answered, {failures}; {done.entities} entities; answers in {out}")


def _failures(failed: int, ingested: str) -> str:
    """The number of failures, and the command that lists their reasons (documents without words are not listed)."""
    return f"{failed} failed" + (f" (see `layoutray dead-letters list {ingested}`)" if failed else "")
