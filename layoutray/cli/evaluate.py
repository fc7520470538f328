"""Measure a checkpoint on pages with truth: perplexity, ROUGE of texts, or precision, recall and F1 of entities and documents' fields."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import checkpoint, tasks, tracking
from layoutray.batching.examples import ExampleSet
from layoutray.checkpoint import Checkpoint
from layoutray.cli import terminal
from layoutray.cli._field_scores import field_pairs, scores_of
from layoutray.cli._reliability import field_calibration, reliability_picture, word_calibration
from layoutray.cli._text_scores import text_scores
from layoutray.document import Page
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.inference import Extractor
from layoutray.metrics.entity_f1 import Score, with_missed
from layoutray.prepare.align import transfer_tags
from layoutray.prepare.encode import Encoder
from layoutray.report import overlay, png
from layoutray.report.confusion import confusion as confusion_picture
from layoutray.report.page_picture import page_picture
from layoutray.store import codec, shards, sources
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import PAGES
from layoutray.tasks.summary import Summary
from layoutray.training import loop, world
from layoutray.training.feed import recipe_feed

_OVERLAYS = 4


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    uri = options.tracking_uri or tracking.default_uri()
    folder, _ = tracking.checkpoint_folder(options.checkpoint, uri)
    loaded = checkpoint.load(folder)
    task = tasks.load(loaded.recipe.task.name)
    rows, measured = chosen(options), _measured(options)
    examples, letters = encoded(loaded, options.pages, rows, loaded.recipe.max_length)
    reasons = Counter(letter.reason for letter in letters)
    dead, cut, texts_cut = (
        sum(letter.page is not None for letter in letters),
        reasons[Reason.CUT],
        reasons[Reason.TEXT_CUT],
    )
    seen = observed(loaded, examples)
    pairs = field_pairs(loaded, options.pages, rows, options.beams)
    metrics = task.summarise(seen, loaded.labels) | word_calibration(loaded, seen)
    if loaded.recipe.task.fields:
        metrics |= scores_of(pairs, loaded.recipe.task.fields) | field_calibration(pairs, loaded.recipe.task.fields)
    if isinstance(task, Summary):
        metrics |= text_scores(loaded, options.pages, rows, options.beams)
    if options.truth:
        metrics |= _with_lost(metrics, _lost_entities(options.pages, options.truth, rows))
    of = "documents" if task.of_documents else "windows"
    terminal.show_table(
        f"{loaded.recipe.name} on {measured}, {len(examples)} {of}", ("metric", "value"), sorted(metrics.items())
    )
    if dead:
        terminal.say(f"{dead} pages could not be encoded and are not in these numbers")
    terminal.say_cuts(loaded.recipe, cut, texts_cut)
    counts = {"dead": dead, "cut": cut, "texts_cut": texts_cut}
    report = {
        "checkpoint": str(options.checkpoint),
        "pages": options.pages,
        "split": measured,
        **counts,
        "metrics": metrics,
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if run := tracking.noted(folder, uri):
        run.log_metrics(int(loaded.metrics["step"]), {f"{measured}.{name}": value for name, value in metrics.items()})
        if loaded.labels:
            run.log_picture(f"confusion_{measured}", _confusion(task.confusion(seen, loaded.labels)))
            run.log_picture(f"reliability_{measured}", reliability_picture(loaded, seen, pairs))
            for number, picture in enumerate(_overlays(loaded, options.pages, rows), start=1):
                run.log_picture(f"overlay_{measured}_{number}", picture)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="layoutray evaluate", description=__doc__)
    add_pages_options(parser)
    parser.add_argument(
        "--truth",
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="the same set ingested with words=annotation: its entities that no recognised word stands for count as missed",
    )
    parser.add_argument(
        "--beams", type=int, default=1, help="of models that write: hypotheses that are kept at each word; 1 is greedy"
    )
    parser.add_argument("--json", type=Path, help="also write the metrics to this file")
    return parser


def add_pages_options(parser: argparse.ArgumentParser) -> None:
    """The checkpoint, and the split of which folders it is measured on, see `chosen`."""
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    parser.add_argument("pages", nargs="+", help="folders that `layoutray ingest` has written")
    parser.add_argument("--split", default="test", choices=("train", "dev", "test"))
    parser.add_argument(
        "--without", type=Path, metavar="FILE", help="leave out the documents whose doc_ids stand in it, one a line"
    )
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )


def chosen(options: argparse.Namespace) -> pc.Expression:
    """Rows of PAGES and of DOCUMENTS that are measured: of `--split`, but for the documents in the file `--without`.

    Raises:
        InputError: when that file cannot be read.
    """
    rows = pc.field("split") == options.split
    if options.without is None:
        return rows
    try:
        left_out = options.without.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--without {options.without} cannot be read: {error}; it must have a doc_id in each line"
        ) from error
    return rows & ~pc.field("doc_id").isin(pa.array(left_out, pa.string()))


def encoded(
    loaded: Checkpoint, folders: Sequence[str], rows: pc.Expression, max_length: int
) -> tuple[ExampleSet, list[DeadLetter]]:
    """The pages `rows` as this checkpoint sees them, in windows of up to `max_length` tokens, and letters about what is missing."""
    recipe = loaded.recipe
    inside = tuple(sources.join(folder, "pages") for folder in folders)
    encoder = Encoder(recipe.task, max_length, loaded.labels, loaded.tokenizer.inner.to_str(), inside)
    tables: list[pa.Table] = []
    dead: list[DeadLetter] = []
    for folder in inside:
        for pages in shards.scan(folder, PAGES, filter=rows):
            table, letters = encoder(pages)
            tables.append(table)
            dead += letters
    if not tables:
        splits = [table["split"].to_pylist() for folder in inside for table in shards.scan(folder, PAGES, ["split"])]
        there = (
            ", ".join(f"{count} in {split}" for split, count in Counter(chain.from_iterable(splits)).items()) or "none"
        )
        raise InputError(
            f"no page of {', '.join(folders)} is in the split that is measured, or all of it are left out; pages there: {there}; "
            "choose another with --split, or ingest with a dev_share and a test_share"
        )
    examples = pa.concat_tables(tables).sort_by(
        [("doc_id", "ascending"), ("page", "ascending"), ("window", "ascending")]
    )
    if not examples.num_rows:
        raise InputError(
            f"no page of {', '.join(folders)} can be measured: {dead[0].message if dead else 'none has words'}"
        )
    return ExampleSet(examples), dead


def observed(loaded: Checkpoint, examples: ExampleSet) -> list[Any]:
    """What the checkpoint's task observes on `examples`."""
    here = world.single_process()
    feed = recipe_feed(loaded.recipe, loaded.tokenizer, examples)
    return loop.observe(loaded.model.to(here.device), tasks.load(loaded.recipe.task.name), feed, here)


def _measured(options: argparse.Namespace) -> str:
    """What the numbers are of, as reports and MLflow name it."""
    return options.split if options.without is None else f"{options.split}_without_{options.without.stem}"


def _lost_entities(folders: Sequence[str], truth: Sequence[str], rows: pc.Expression) -> int:
    """Entities on the pages of `truth` that no word of the same page in `folders` stands for; all of them where that page is missing."""
    recognised = {(page.doc_id, page.number): page.words for page in _pages(folders, rows)}
    annotated = {(page.doc_id, page.number): page.words for page in _pages(truth, rows)}
    if not recognised.keys() <= annotated.keys():
        raise InputError(
            f"{len(recognised.keys() - annotated.keys())} pages of {', '.join(folders)} are not in --truth {', '.join(truth)}; "
            "ingest the same documents with --set words=annotation, and with the same splits"
        )
    return sum(transfer_tags(recognised.get(page, ()), words).lost_entities for page, words in annotated.items())


def _pages(folders: Sequence[str], rows: pc.Expression) -> Iterator[Page]:
    for folder in folders:
        for pages in shards.scan(sources.join(folder, "pages"), PAGES, filter=rows):
            yield from codec.pages_of(pages)


def _with_lost(metrics: Mapping[str, float], lost: int) -> dict[str, float]:
    """What `lost` entities, as so many misses, make of the scores of those that are left."""
    if "support" not in metrics:
        raise InputError("--truth counts lost entities, and the task of this checkpoint scores none; leave it out")
    score = with_missed(Score(metrics["precision"], metrics["recall"], metrics["f1"], int(metrics["support"])), lost)
    return {"lost_entities": float(lost), "recall_with_lost": score.recall, "f1_with_lost": score.f1}


def _confusion(counts: Counter[tuple[str, str]]) -> bytes:
    return png.png(confusion_picture(counts, sorted({kind for pair in counts for kind in pair})))


def _overlays(loaded: Checkpoint, folders: Sequence[str], rows: pc.Expression) -> Iterator[bytes]:
    """The first few pages by id with what was found, and dashed what should have been: the same pages for every model."""
    extractor, task = (
        Extractor(loaded, loaded.recipe.name, world.single_process().device),
        tasks.load(loaded.recipe.task.name),
    )
    first = PAGES.empty_table()
    for folder in folders:
        for pages in shards.scan(sources.join(folder, "pages"), PAGES, filter=rows & (pc.field("image") != "")):
            first = pa.concat_tables([first, pages]).sort_by("page_id").slice(0, _OVERLAYS)
    pages = list(codec.pages_of(first))
    for page, found in zip(pages, extractor.extract(pages), strict=True):
        truth = task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
        try:
            yield png.png(overlay.draw(page_picture(page), found, truth=truth, types=extractor.entity_types))
        except DocumentError as error:
            terminal.say(f"no overlay of page {page.number} of {page.source}: {error}")
