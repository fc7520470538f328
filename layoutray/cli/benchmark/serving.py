"""Latency and throughput of the endpoint for your documents, by number of clients, and of the bare model."""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from layoutray import checkpoint, devices, recipe, tracking
from layoutray.benchmark.serving import Endpoint, Load, in_process, measure_load
from layoutray.cli import terminal
from layoutray.cli.benchmark import page_sample
from layoutray.cluster.connect import connect
from layoutray.cluster.serve import ServeSettings, running
from layoutray.cluster.serving.model_version import load_model
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.generation import TextGenerator
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark serving", description=__doc__)
    parser.add_argument("checkpoint", help="checkpoint folder, its s3:// address, or models:/NAME@ALIAS")
    page_sample.add_options(parser)
    parser.set_defaults(pages=50)
    parser.add_argument(
        "--url", help="measure the endpoint that already runs at this URL with CHECKPOINT (default: start one)"
    )
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[1, 2, 4], help="numbers of concurrent clients (default: 1 2 4)"
    )
    parser.add_argument("--recipe", default="ingest-folder", help="ingest recipe whose section `recognition` is used")
    parser.add_argument("--port", type=int, default=8000, help="port of the endpoint that is started")
    parser.add_argument("--ocr-replicas", type=int, default=1, help="OCR processes of the endpoint that is started")
    parser.add_argument("--model-replicas", type=int, default=1, help="model processes of the endpoint that is started")
    options = parser.parse_args(arguments)
    if min(options.clients) < 1:
        raise InputError(f"--clients is {min(options.clients)}; it must be at least 1")
    folder, _ = tracking.checkpoint_folder(options.checkpoint, tracking.default_uri())
    settings = ServeSettings(
        checkpoint=folder,
        recognition=recipe.load_ingest(options.recipe, []).recognition,
        ocr_replicas=options.ocr_replicas,
        model_replicas=options.model_replicas,
        port=options.port,
    )
    documents = _documents(options.folders, options.pages)
    terminal.say(f"{len(documents)} documents, each posted once for each number of clients")
    # The bare model runs first, alone, so that it does not compete with the endpoint for cores.
    loads = {"bare model": _bare(folder, settings.recognition, documents)}
    with _endpoint(settings, options.url) as url:
        loads |= _served(Endpoint(url), documents, options.clients)
    _show(loads)
    sys.stdout.write(json.dumps({name: asdict(load) for name, load in loads.items()}) + "\n")
    return 0


def _documents(folders: Sequence[Path], pages: int) -> list[bytes]:
    with tempfile.TemporaryDirectory() as scratch:
        sample = Path(scratch, "sample")
        page_sample.collect(folders, pages, sample)
        documents = [file.read_bytes() for file in sorted(sample.iterdir())]
    if not documents:
        raise InputError(f"{', '.join(map(str, folders))}: no picture or PDF file of at most {pages} pages")
    return documents


def _bare(folder: str, recognition: Recognition, documents: Sequence[bytes]) -> Load:
    """One document after the other in this process, with one thread for the model, as in a model replica."""
    torch.set_num_threads(1)
    model = load_model(checkpoint.load(folder), 1, devices.first_visible())
    answer: Callable[[Sequence[Page]], object] = (
        (lambda pages: model.write([pages])) if isinstance(model, TextGenerator) else model.extract
    )
    with IsolatedRecogniser(recognition) as recogniser:
        return measure_load(lambda: contextlib.nullcontext(in_process(recogniser, answer)), documents, 1)


@contextlib.contextmanager
def _endpoint(settings: ServeSettings, url: str | None) -> Generator[str]:
    """The URL of a running endpoint: `url`, or else that of one that runs during the block."""
    if url:
        yield url
        return
    with connect(), running(settings, "benchmark") as started:
        yield started


def _served(endpoint: Endpoint, documents: Sequence[bytes], clients: Sequence[int]) -> dict[str, Load]:
    path = endpoint.path()
    loads: dict[str, Load] = {}
    for count in clients:
        load = measure_load(lambda: endpoint.client(path), documents, count)
        loads[f"endpoint, {count} client{'s' * (count > 1)}"] = load
        terminal.say(f"{count} clients: {load.per_second:.2f} documents/s")
    return loads


def _show(loads: dict[str, Load]) -> None:
    rows = [
        (name, f"{load.p50:.3f}", f"{load.p95:.3f}", f"{load.per_second:.2f}", load.documents, load.failed)
        for name, load in loads.items()
    ]
    columns = ("", "p50, s", "p95, s", "documents/s", "answered", "failed")
    terminal.show_table("OCR and model: latency of a document, and throughput", columns, rows)
