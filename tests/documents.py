"""Made-up documents of two pages with summaries, and a model that writes about them, as small as it gets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from layoutray import recipe as recipes
from layoutray.document import SUMMARY, Document, Field, Page
from layoutray.recipe import Recipe
from layoutray.store import codec, shards
from tests.jobs import NO_DROPOUT, page

PYRAMIDION = {
    "arch": "pyramidion",
    "hidden": 32,
    "layers": 2,
    "heads": 2,
    "feed_forward": 64,
    "block": 16,
    "halvings": [0, 1],
    **NO_DROPOUT,
}
WRITING = {"max_length": 30, "decoder": {"layers": 1, "heads": 2, "feed_forward": 64, "dropout": 0.0, "attention_dropout": 0.0}}


def recipe(task: str = "summary", *, max_length: int = 160, model: dict[str, Any] | None = None, **train: Any) -> Recipe:
    values = {
        "name": f"small-{task}",
        "task": {"name": task, "writing": WRITING},
        "train": {"steps": 300, "batch_size": 8, "micro_batch_size": 8, "learning_rate": 1e-2, "warmup_steps": 10, **train},
        "model": PYRAMIDION | (model or {}),
        "tokenizer": {"vocab_size": 120},
        "max_length": max_length,
        "seed": 3,
    }
    return recipes.from_dict(values)


def pages(number: int, split: str = "train") -> list[Page]:
    """The two pages of a document."""
    first, second = page(2 * number, split), page(2 * number + 1, split)
    return [first, replace(second, doc_id=first.doc_id, source=first.source, number=2)]


def summary(whole: list[Page]) -> str:
    """A line for each page: its first word and its last one."""
    return "\n".join(f"{one.words[0].text} {one.words[-1].text}" for one in whole)


def document(whole: list[Page], *summaries: str) -> Document:
    first = whole[0]
    return Document(first.doc_id, first.source, first.split, len(whole), tuple(Field(SUMMARY, text) for text in summaries))


def write_documents(folder: Path, documents: list[Document]) -> None:
    """DOCUMENTS, as `ingest` leaves them beside the pages of `folder`."""
    shards.write(codec.documents_table(documents), str(folder / "documents"), "part-all.parquet")
