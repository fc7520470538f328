"""PAGES to EXAMPLES: the same function on one table of pages, wherever it runs."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import checkpoint, tokenizer
from layoutray.batching.examples import row_of
from layoutray.batching.windows import Window, document_window, windows
from layoutray.document import Document, Page
from layoutray.document.field_lines import parse, to_lines
from layoutray.document.filters import Filters
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.prepare.field_truth import tagged_pages
from layoutray.prepare.whole_documents import documents_of, whole_documents
from layoutray.recipe import TokenizerRecipe
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import EXAMPLES, PAGES
from layoutray.tasks import TagsWords, Task, WritesTexts, fields_of
from layoutray.tokenizer import Tokenizer

SPLITS = ("train", "dev", "test")

_LIMITS = {
    Reason.CUT: ("the document", "max_length"),
    Reason.TEXT_CUT: ("the text to write", "task.writing.max_length"),
}
"""What can be cut, and the recipe key that says how many tokens of it are taken."""
_RowsAndLetters = tuple[list[dict[str, Any]], list[DeadLetter]]


@dataclass(frozen=True)
class Encoder:
    """Everything that encoding a page needs; small enough to send to every worker.

    Attributes:
        vocabulary: JSON of the tokenizer (the object itself does not travel between processes).
        folders: of PAGES, with the documents beside them, whose values tag the words where the task wants fields, or are what to write.
    """

    task: Task
    max_length: int
    labels: tuple[str, ...]
    vocabulary: str
    folders: tuple[str, ...] = field(default=(), repr=False)  # a data set is the same wherever it lies

    def __call__(self, pages: pa.Table) -> tuple[pa.Table, list[DeadLetter]]:
        """EXAMPLES of a PAGES table, and the pages that could not be encoded.

        Of tasks of documents, the examples are of the documents whose first page is in the table, and so are the dead letters. Letters
        without a page are of values found nowhere, and of documents and texts that were cut.
        """
        vocabulary = tokenizer.parse(self.vocabulary)
        made, page_ids = list(codec.pages_of(pages)), pages["page_id"].to_pylist()
        if self.task.of_documents:
            rows, letters = self._documents(made, page_ids, vocabulary)
        else:
            rows, letters = self._pages(made, page_ids, vocabulary)
        return pa.Table.from_pylist(rows, schema=EXAMPLES), letters

    def _pages(self, pages: list[Page], page_ids: Sequence[str], vocabulary: Tokenizer) -> _RowsAndLetters:
        rows: list[dict[str, Any]] = []
        letters: list[DeadLetter] = []
        if fields := fields_of(self.task):
            pages, letters = tagged_pages(pages, self.folders, fields)
        for page, page_id in zip(pages, page_ids, strict=True):
            found = enumerate(windows(page, vocabulary, self.max_length))
            try:
                rows += [row_of(page, number, window, self._targets(page, window)) for number, window in found]
            except DocumentError as error:
                letters.append(_letter(error, page, page_id))
        return rows, letters

    def _targets(self, page: Page, window: Window) -> list[int] | None:
        return self.task.targets(page, window, self.labels) if isinstance(self.task, TagsWords) else None

    def _documents(self, pages: Sequence[Page], page_ids: Sequence[str], vocabulary: Tokenizer) -> _RowsAndLetters:
        """Of the documents whose first page is among `pages`."""
        rows: list[dict[str, Any]] = []
        letters: list[DeadLetter] = []
        asked = {(page.doc_id, page.number): page_id for page, page_id in zip(pages, page_ids, strict=True)}
        for document, whole in whole_documents(self.folders, {page.doc_id for page in pages}, pages):
            if (first := (document.doc_id, whole[0].number)) in asked:
                try:
                    row, cuts = self._document(document, whole, vocabulary)
                except DocumentError as error:
                    letters.append(_letter(error, whole[0], asked[first]))
                else:
                    rows += row
                    letters += cuts
        return rows, letters

    def _document(self, document: Document, pages: Sequence[Page], vocabulary: Tokenizer) -> _RowsAndLetters:
        window, length = document_window(pages, vocabulary, self.max_length)
        lengths, labels = {Reason.CUT: (length, self.max_length)}, None
        if isinstance(self.task, WritesTexts):
            text, longest = vocabulary.text_to_ids(self.task.text(document)), self.task.writing.max_length
            labels = text[:longest] if len(text) > longest else [*text, vocabulary.end_id]
            lengths[Reason.TEXT_CUT] = len(text), longest
        return [row_of(pages[0], 0, window, labels)] if window else [], list(_cuts(document, lengths))


def _letter(error: DocumentError, page: Page, page_id: str) -> DeadLetter:
    return DeadLetter.of(error, source=page.source, doc_id=page.doc_id, page_id=page_id, page=page.number)


def _cuts(document: Document, lengths: Mapping[Reason, tuple[int, int]]) -> Iterator[DeadLetter]:
    """Letters about what has more tokens than are taken; `lengths` has both."""
    for reason, (length, longest) in lengths.items():
        if length > longest:
            what, key = _LIMITS[reason]
            message = (
                f"{what} has {length} tokens, of which the first {longest} are taken; more are with a higher {key}"
            )
            yield DeadLetter.of(
                DocumentError(reason, message, stage="encode"), source=document.source, doc_id=document.doc_id
            )


def chosen(pages: pa.Table, filters: Filters) -> tuple[pa.Table, Counter[str]]:
    """The rows of a PAGES table that pass `filters`, and how many each filter refuses; a page counts under the first that does."""
    if filters == Filters():
        return pages, Counter()
    refusals = [filters.failed_filter(page) for page in codec.pages_of(pages)]
    return pages.filter(pa.array([not refusal for refusal in refusals], pa.bool_())), Counter(filter(None, refusals))


def vocabulary_for(
    recipe: TokenizerRecipe, folders: Sequence[str], filters: Filters, task: Task | None = None
) -> Tokenizer:
    """The recipe's tokenizer: loaded from its path, or trained on the training pages of the PAGES folders that pass `filters`.

    Args:
        task: where its model writes fields, the vocabulary has to have their names: it is trained on what is to be written too.

    Raises:
        InputError: when one that is loaded does not have them.
    """
    written = fields_of(task) if isinstance(task, WritesTexts) else {}
    if not recipe.path:
        words = chain(_training_words(folders, filters), _words_to_write(written, folders))
        return tokenizer.train_wordpiece(words, recipe.vocab_size)
    loaded = checkpoint.read_vocabulary(recipe.path)
    _check_names(written, loaded, recipe.path)
    return loaded


def labels_for(task: Task, folders: Iterable[str]) -> tuple[str, ...]:
    """Names of the labels of a task that tags words, from its fields or else from the tags of all pages of the folders."""
    if not isinstance(task, TagsWords):
        return ()
    if fields := fields_of(task):
        return task.label_names([[f"B-{name}" for name in fields]])
    rows = (
        row
        for folder in folders
        for table in shards.scan(folder, PAGES, ["tags"])
        for row in table["tags"].to_pylist()
        if row
    )
    return task.label_names([tag for tag in row if tag is not None] for row in rows)


def digest_of(encoder: Encoder, page_ids: Iterable[str]) -> str:
    """Identity of what encoding these pages gives."""
    hashed = hashlib.sha256(repr(encoder).encode())
    for page_id in sorted(page_ids):
        hashed.update(page_id.encode())
    return hashed.hexdigest()[:16]


def _words_to_write(names: Collection[str], folders: Sequence[str]) -> Iterator[str]:
    """Of the lines about training documents that state fields called so."""
    for document in documents_of(folders, pc.field("split") == "train") if names else ():
        yield from to_lines(field for field in document.fields if field.name in names).split()


def _check_names(names: Iterable[str], vocabulary: Tokenizer, path: str) -> None:
    for name in names:
        line = f"{name}: {name}"
        kept = vocabulary.ids_to_text(vocabulary.text_to_ids(line))
        if not parse(kept, [name]):
            raise InputError(
                f"the vocabulary of {path} keeps {kept!r} of the line {line!r}, which no longer names the field; "
                "give it another name, take another vocabulary, or leave tokenizer.path empty to train one"
            )


def _training_words(folders: Iterable[str], filters: Filters) -> Iterator[str]:
    for folder in folders:
        for table in shards.scan(folder, PAGES, filter=pc.field("split") == "train"):
            for words in chosen(table, filters)[0]["words"].to_pylist():
                yield from words
