"""PAGES to EXAMPLES: the same function on one table of pages, wherever it runs."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from layoutray import tasks, tokenizer
from layoutray.batching.windows import windows
from layoutray.document import Page
from layoutray.errors import DocumentError
from layoutray.prepare.field_truth import tagged_pages
from layoutray.recipe import TaskRecipe, TokenizerRecipe
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import EXAMPLES, PAGES
from layoutray.tasks import Task
from layoutray.tokenizer import Tokenizer

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Encoder:
    """Everything that encoding a page needs; small enough to send to every worker.

    Attributes:
        vocabulary: JSON of the tokenizer (the object itself does not travel between processes).
        folders: of PAGES, whose documents' values tag the words where the task wants fields.
    """

    task: TaskRecipe
    max_length: int
    labels: tuple[str, ...]
    vocabulary: str
    folders: tuple[str, ...] = field(default=(), repr=False)  # a data set is the same wherever it lies

    def __call__(self, pages: pa.Table) -> tuple[pa.Table, list[DeadLetter]]:
        """EXAMPLES of a PAGES table, and the pages that could not be encoded, and letters without a page of values found nowhere."""
        vocabulary = tokenizer.parse(self.vocabulary)
        task = tasks.load(self.task.name)
        rows: list[dict[str, Any]] = []
        dead: list[DeadLetter] = []
        made = list(codec.pages_of(pages))
        if self.task.fields:
            made, dead = tagged_pages(made, self.folders, self.task.fields)
        for page_id, page in zip(pages["page_id"].to_pylist(), made, strict=True):
            try:
                rows += page_rows(page, task, self.labels, vocabulary, self.max_length)
            except DocumentError as error:
                dead.append(DeadLetter.of(error, source=page.source, doc_id=page.doc_id, page_id=page_id, page=page.number))
        return pa.Table.from_pylist(rows, schema=EXAMPLES), dead


def page_rows(page: Page, task: Task, labels: Sequence[str], vocabulary: Tokenizer, max_length: int) -> Iterator[dict[str, Any]]:
    """EXAMPLES rows of one page. Raises DocumentError when its truth does not fit the task."""
    for number, window in enumerate(windows(page, vocabulary, max_length)):
        yield {
            "doc_id": page.doc_id,
            "page": page.number,
            "window": number,
            "split": page.split,
            "input_ids": window.input_ids,
            "boxes": window.boxes.tolist(),
            "word_index": window.word_index,
            "neighbours": window.neighbours.tolist(),
            "page_width": page.width,
            "page_height": page.height,
            "labels": task.targets(page, window, labels),
        }


def vocabulary_for(recipe: TokenizerRecipe, folders: Iterable[str]) -> Tokenizer:
    """The recipe's tokenizer: loaded from its path, or trained on the training pages of the PAGES folders."""
    if recipe.path:
        return tokenizer.load(recipe.path)
    return tokenizer.train_wordpiece(_training_words(folders), recipe.vocab_size)


def labels_for(task: TaskRecipe, folders: Iterable[str]) -> tuple[str, ...]:
    """Names of the task's outputs: from its fields, or else from the tags of all pages of the PAGES folders."""
    if task.fields:
        return tasks.load(task.name).label_names([[f"B-{name}" for name in task.fields]])
    rows = (row for folder in folders for table in shards.scan(folder, PAGES, ["tags"]) for row in table["tags"].to_pylist() if row)
    return tasks.load(task.name).label_names([tag for tag in row if tag is not None] for row in rows)


def digest_of(encoder: Encoder, page_ids: Iterable[str]) -> str:
    """Identity of what encoding these pages gives."""
    hashed = hashlib.sha256(repr(encoder).encode())
    for page_id in sorted(page_ids):
        hashed.update(page_id.encode())
    return hashed.hexdigest()[:16]


def _training_words(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for table in shards.scan(folder, PAGES, ["words", "split"]):
            for words, split in zip(table["words"].to_pylist(), table["split"].to_pylist(), strict=True):
                if split == "train":
                    yield from words
