"""Latency and throughput of the endpoint for your documents, compared with the same OCR and model in one process."""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from benchmarks import sample_pages
from benchmarks.measure.endpoint_load import (
    Endpoint,
    Post,
    in_process,
    measure_batches,
    measure_load,
    post_of_file,
    post_of_words,
    read_pages,
)
from benchmarks.measure.endpoint_rounds import Comparison, Measure, Range, compare
from layoutray import checkpoint, devices
from layoutray.cli.shared import terminal
from layoutray.cluster.connect import connect
from layoutray.cluster.endpoint.application import running
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.inference.generation import TextGenerator
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.recipe.ingest import load_ingest
from layoutray.serving.model import load_model
from layoutray.serving.settings import ServeSettings
from layoutray.tracking import registered, stores

_TIMES = 4
"""Each document of words is sent so often in a round: one needs far less time than a picture."""

_Words = Sequence[Page]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The same documents as files and as words."""

    files: Sequence[bytes]
    words: Sequence[_Words]


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    for name in ("clients", "rounds"):
        if getattr(options, name) < 1:
            raise InputError(f"--{name} is {getattr(options, name)}; it must be at least 1")
    folder, _ = registered.checkpoint_folder(options.checkpoint, stores.default_uri())
    settings = ServeSettings(
        checkpoint=folder,
        recognition=load_ingest(options.recipe, []).recognition,
        ocr_replicas=options.ocr_replicas,
        model_replicas=options.model_replicas,
        port=options.port,
    )
    files = _files(options.folders, options.pages)
    with IsolatedRecogniser(settings.recognition) as recogniser:
        sample = _Sample(files, [read_pages(recogniser, file) for file in files])
        terminal.say(f"{len(files)} documents, {options.rounds} rounds")
        with _endpoint(settings, options.url) as url:
            pairs = _pairs(_Bare.load(folder, recogniser), Endpoint(url), sample, settings.batch_size, options.clients)
            found = compare(pairs, options.rounds)
    _show(found)
    sys.stdout.write(json.dumps({name: asdict(comparison) for name, comparison in found.items()}) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks serving", description=__doc__)
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    sample_pages.add_options(parser)
    parser.set_defaults(pages=50)
    parser.add_argument(
        "--url", help="measure the endpoint that already runs at this URL with CHECKPOINT (default: start one)"
    )
    parser.add_argument("--clients", type=int, default=8, help="concurrent clients for throughput (default: 8)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side (default: 5)")
    parser.add_argument("--recipe", default="ingest-folder", help="ingest recipe whose section `recognition` is used")
    parser.add_argument("--port", type=int, default=8000, help="port of the endpoint that is started")
    parser.add_argument("--ocr-replicas", type=int, default=1, help="OCR processes of the endpoint that is started")
    parser.add_argument("--model-replicas", type=int, default=1, help="model processes of the endpoint that is started")
    return parser


def _files(folders: Sequence[Path], pages: int) -> list[bytes]:
    with tempfile.TemporaryDirectory() as scratch:
        sample = Path(scratch, "sample")
        sample_pages.collect(folders, pages, sample)
        files = [file.read_bytes() for file in sorted(sample.iterdir())]
    if not files:
        raise InputError(f"{', '.join(map(str, folders))}: no picture or PDF file of at most {pages} pages")
    return files


@dataclass(frozen=True, slots=True)
class _Bare:
    """OCR and model in this process, with one thread for the model, as in a model replica.

    Attributes:
        answer: answers a batch of documents.
    """

    recogniser: IsolatedRecogniser
    answer: Callable[[Sequence[_Words]], object]

    @classmethod
    def load(cls, folder: str, recogniser: IsolatedRecogniser) -> "_Bare":
        torch.set_num_threads(1)
        model = load_model(checkpoint.load(folder), 1, devices.first_visible())
        if isinstance(model, TextGenerator):
            return cls(recogniser, model.write)
        return cls(recogniser, lambda batch: model.extract([page for pages in batch for page in pages]))

    def answer_words(self, pages: _Words) -> bytes:
        self.answer([pages])
        return b""


@contextlib.contextmanager
def _endpoint(settings: ServeSettings, url: str | None) -> Generator[str]:
    """The URL of a running endpoint: `url`, or else that of one that runs during the block."""
    if url:
        yield url
        return
    with connect(), running(settings, "benchmark") as started:
        yield started


def _pairs(
    bare: _Bare, endpoint: Endpoint, sample: _Sample, batch_size: int, clients: int
) -> dict[str, tuple[Measure, Measure]]:
    """What is measured: endpoint and bare side of each."""
    path = endpoint.path()
    words = [*sample.words] * _TIMES
    posts = [post_of_words(pages) for pages in words]
    read = in_process(bare.recogniser, lambda pages: bare.answer([pages]))

    def posted(what: Sequence[Post], count: int) -> Measure:
        return lambda: measure_load(lambda: endpoint.client(path), what, count)

    return {
        "words, 1 client": (
            posted(posts, 1),
            lambda: measure_load(lambda: contextlib.nullcontext(bare.answer_words), words, 1),
        ),
        f"words, {clients} clients": (posted(posts, clients), lambda: measure_batches(bare.answer, words, batch_size)),
        "files, 1 client": (
            posted([post_of_file(file) for file in sample.files], 1),
            lambda: measure_load(lambda: contextlib.nullcontext(read), sample.files, 1),
        ),
    }


def _show(found: dict[str, Comparison]) -> None:
    rows = [row for name, comparison in found.items() for row in _rows(name, comparison)]
    terminal.show_table("Median (least to most) over the rounds", ("", "endpoint", "bare", "compared"), rows)
    stages = {name: comparison.stages() for name, comparison in found.items()}
    columns = ("", *next(iter(stages.values())))
    shown = [(name, *(f"{value:.1f}" for value in of.values())) for name, of in stages.items()]
    terminal.show_table("Where the time of a document goes, in the endpoint", columns, shown)


def _rows(name: str, comparison: Comparison) -> list[tuple[str, ...]]:
    sides = (comparison.endpoint, comparison.bare)
    speed = [Range.of([load.per_second for load in side]).shown(1) for side in sides]
    rows: list[tuple[str, ...]] = [(f"{name}: documents/s", *speed, f"x {comparison.relative_throughput().shown(2)}")]
    if comparison.endpoint[0].clients == 1:  # the bare side of others answers batches
        latency = [Range.of([load.p50 * 1000 for load in side]).shown(1) for side in sides]
        rows.append((f"{name}: p50, ms", *latency, f"+ {comparison.added_latency().shown(1)}"))
        rows.append((f"{name}: p50, ms", *latency, f"x {comparison.relative_latency().shown(2)}"))
    return rows
