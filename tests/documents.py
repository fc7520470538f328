"""Made-up documents of two pages with summaries or fields, and a model that writes about them, as small as it gets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from layoutray.config import override
from layoutray.document import SUMMARY, Document, Field, Page
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from tests.jobs import NO_DROPOUT, job, page
from tests.training.runs import alone

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
WRITING = {
    "max_length": 30,
    "decoder": {"layers": 1, "heads": 2, "feed_forward": 64, "dropout": 0.0, "attention_dropout": 0.0},
}


FIELDS = {"Opening Word": {}, "total": {"type": "amount", "many": True}}


def with_values(*values: dict[str, str]) -> list[Document]:
    """A document of one page for each of the values by field."""
    return [
        Document(
            doc_id=str(number),
            source="",
            split="train",
            num_pages=1,
            fields=tuple(Field(*one) for one in of_one.items()),
        )
        for number, of_one in enumerate(values)
    ]


def recipe(
    task: str = "summary", *, max_length: int = 160, model: dict[str, Any] | None = None, **train: Any
) -> Recipe:
    fields = {"fields": FIELDS} if task == "generate_fields" else {}
    values = {
        "name": f"small-{task}",
        "task": {"name": task, "writing": WRITING | {"max_length": 40 if fields else 30}, **fields},
        "train": {
            "steps": 300,
            "batch_size": 8,
            "micro_batch_size": 8,
            "learning_rate": 1e-2,
            "warmup_steps": 10,
            **train,
        },
        "model": PYRAMIDION | (model or {}),
        "tokenizer": {"vocab_size": 120},
        "max_length": max_length,
        "seed": 3,
    }
    return recipes.from_dict(values)


def with_writing(chosen: Recipe, **changes: float) -> Recipe:
    """`chosen` with changes in its section [task.writing]."""
    assignments = [f"task.writing.{key}={value}" for key, value in changes.items()]
    return recipes.from_dict(override(chosen.to_dict(), assignments))


def pages(number: int, split: str = "train") -> list[Page]:
    """The two pages of a document."""
    first, second = page(2 * number, split), page(2 * number + 1, split)
    return [first, replace(second, doc_id=first.doc_id, source=first.source, number=2)]


def summary(whole: list[Page]) -> str:
    """A line for each page: its first word and its last one."""
    return "\n".join(f"{one.words[0].text} {one.words[-1].text}" for one in whole)


def document(whole: list[Page], *summaries: str) -> Document:
    return with_fields(whole, *(Field(SUMMARY, text) for text in summaries))


def values(whole: list[Page]) -> list[Field]:
    """The first word of the first page, and the last ones of both, each once."""
    totals = dict.fromkeys(one.words[-1].text for one in whole)
    return [Field("Opening Word", whole[0].words[0].text), *(Field("total", total) for total in totals)]


def with_fields(whole: list[Page], *fields: Field) -> Document:
    first = whole[0]
    return Document(doc_id=first.doc_id, source=first.source, split=first.split, num_pages=len(whole), fields=fields)


def train_on_fields(folder: Path) -> tuple[Path, list[list[Page]]]:
    """A checkpoint that has memorised the values of eight documents, and the documents (in `folder/ingested`)."""
    wholes = [pages(number) for number in range(8)]
    write_documents(folder / "ingested", [with_fields(whole, *values(whole)) for whole in wholes])
    one = job(folder, recipe("generate_fields"), [page for whole in wholes for page in whole])
    losses = [loss for _, loss in alone(one)["loss"]]
    assert losses[0] > 4 > 0.1 > losses[-1]
    return one.out, wholes


def train_on_summaries(folder: Path) -> tuple[Path, list[list[Page]]]:
    """A checkpoint that has memorised the first of two summaries of eight documents (in `folder/ingested`)."""
    wholes = [pages(number) for number in range(8)]
    write_documents(folder / "ingested", [document(whole, summary(whole), "nothing of it") for whole in wholes])
    one = job(folder, recipe(), [page for whole in wholes for page in whole])
    losses = [loss for _, loss in alone(one)["loss"]]
    assert losses[0] > 4 > 0.1 > losses[-1]
    return one.out, wholes


def write_documents(folder: Path, documents: list[Document]) -> None:
    """DOCUMENTS, as `ingest` leaves them beside the pages of `folder`."""
    shards.write(codec.documents_table(documents), DataSet(str(folder)).documents, "part-all.parquet")
