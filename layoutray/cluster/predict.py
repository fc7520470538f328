"""Bulk extraction over the cluster: PAGES shards in, ANSWERS shards and JSON lines out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import ActorPoolStrategy

from layoutray.answers import Answer, Problem
from layoutray.errors import InputError
from layoutray.inference import Extractor
from layoutray.store import codec, shards, sources
from layoutray.store.schema import DEAD_LETTERS, PAGES

_PAGES_PER_SHARD = 128


@dataclass(frozen=True)
class Prediction:
    """What came out: every page that went in is either answered or failed."""

    pages: int
    failed: int
    entities: int


def predict(checkpoint: str | Path, ingested: str, out: str, *, workers: int = 1, cpus: float = 0.5, gpus: float = 0) -> Prediction:
    """Answer every page that `ingest` has written to `ingested`, as `out/parquet` and `out/jsonl`, one row of JSON a page.

    Dead letters are answered too: with status `failure` and what went wrong.

    Raises:
        InputError: when `out` holds answers already.
        CheckpointError: when `checkpoint` is none, or not of a model that finds entities.
    """
    loaded = Extractor.load(checkpoint)  # speaks up before any worker starts
    if any(sources.list_files(sources.join(out, "parquet"))) or any(sources.list_files(sources.join(out, "jsonl"))):
        raise InputError(f"{out} holds answers already; delete its folders parquet and jsonl, or give another --out")
    files = shards.shards(sources.join(ingested, "pages"))
    receipts: list[dict[str, Any]] = []
    if files:
        shards.read(sources.join(ingested, "pages"), PAGES, ["page_id"])  # speaks up about foreign tables before any worker starts
        pages = ray.data.read_parquet(files, num_cpus=0.1)
        answered = pages.map_batches(
            _AnswerShard,
            fn_constructor_args=(sources.absolute(str(checkpoint)), out),
            batch_size=_PAGES_PER_SHARD,
            batch_format="pyarrow",
            num_cpus=cpus,
            num_gpus=gpus or None,
            compute=ActorPoolStrategy(size=workers),
        )
        receipts = answered.take_all()
    failed = _answer_dead_letters(loaded, ingested, out)
    return Prediction(sum(row["pages"] for row in receipts) + failed, failed, sum(row["entities"] for row in receipts))


class _AnswerShard:
    """Answers a batch of pages and writes its shard under a name made from the pages."""

    def __init__(self, checkpoint: str, out: str) -> None:
        self._extractor = Extractor.load(checkpoint)
        self._out = out

    def __call__(self, pages: pa.Table) -> pa.Table:
        answers = self._extractor.answers(list(codec.pages_of(pages)))
        _write(answers, self._out, shards.part_name(pages["page_id"].to_pylist()))
        return pa.table({"pages": [len(answers)], "entities": [sum(len(answer.entities) for answer in answers)]})


def _answer_dead_letters(loaded: Extractor, ingested: str, out: str) -> int:
    folder = sources.join(ingested, "dead_letters")
    if not shards.shards(folder):
        return 0
    letters = list(codec.dead_letters_of(shards.read(folder, DEAD_LETTERS)))
    answers = [
        Answer(
            doc_id=letter.doc_id,
            source=letter.source,
            model_id=loaded.model_id,
            model_version=loaded.model_version,
            status="failure",
            entities=(),
            pages=(),
            errors=(Problem(letter.reason, letter.stage, letter.message, letter.retryable, letter.page),),
        )
        for letter in letters
    ]
    _write(answers, out, shards.part_name(f"dead {letter.source} {letter.page}" for letter in letters))
    return len(letters)


def _write(answers: list[Answer], out: str, name: str) -> None:
    shards.write(codec.answers_table(answers), sources.join(out, "parquet"), name)
    lines = "".join(json.dumps(answer.to_json(), ensure_ascii=False) + "\n" for answer in answers)
    shards.write_bytes(lines.encode(), sources.join(out, "jsonl"), name.replace(".parquet", ".jsonl"))
