"""Encode PAGES as EXAMPLES: one table of pages at a time, in any process."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray import checkpoint, tokenizer
from layoutray.batching.examples import row_of
from layoutray.batching.windows import document_window, windows
from layoutray.checkpoint import Fetch
from layoutray.document import Document, Page
from layoutray.document.field_lines import parse, to_lines
from layoutray.document.filters import Filters
from layoutray.document.packets import parts_of
from layoutray.errors import DocumentError, InputError, Reason, as_document_error
from layoutray.prepare.field_truth import TaggedPages, document_letter, labelled_pages, tagged_pages
from layoutray.prepare.whole_documents import read_documents, whole_documents
from layoutray.recipe.recipes import TokenizerRecipe
from layoutray.store import codec
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import EXAMPLES
from layoutray.tasks import LabelsPages, TagsWords, Task, WritesTexts, fields_of
from layoutray.tokenizer import Tokenizer

_RowsAndLetters = tuple[list[dict[str, Any]], list[DeadLetter]]


@dataclass(frozen=True, kw_only=True)
class Encoder:
    """Settings and vocabulary for encoding pages. It is small enough to be sent to every worker.

    Attributes:
        vocabulary: JSON of the tokenizer (the object itself cannot be pickled).
        data_sets: data sets of the pages. Their documents have the expected values and texts.
    """

    task: Task
    max_length: int
    labels: tuple[str, ...]
    vocabulary: str
    data_sets: tuple[DataSet, ...] = field(default=(), repr=False)  # the digest does not depend on the folder

    def __call__(self, pages: pa.Table) -> tuple[pa.Table, list[DeadLetter]]:
        """EXAMPLES of a PAGES table, and the dead letters of encoding it.

        A task of whole documents gets one example for each document whose first page is in the table.

        Returns:
            The examples, and dead letters: of pages that cannot be encoded, and, without a page, of values that occur
            on no page and of documents and texts that were cut.
        """
        vocabulary = tokenizer.parse(self.vocabulary)
        decoded, page_ids = list(codec.pages_of(pages)), pages["page_id"].to_pylist()
        encode = self._documents if self.task.of_documents else self._pages
        rows, letters = encode(decoded, page_ids, vocabulary)
        return pa.Table.from_pylist(rows, schema=EXAMPLES), letters

    def _pages(self, pages: Sequence[Page], page_ids: Sequence[str], vocabulary: Tokenizer) -> _RowsAndLetters:
        rows: list[dict[str, Any]] = []
        fields = fields_of(self.task)
        tagged = tagged_pages(pages, self.data_sets, fields) if fields else TaggedPages(pages, (), {})
        if isinstance(self.task, LabelsPages):
            tagged = replace(tagged, pages=[self.task.read(page) for page in labelled_pages(pages, self.data_sets)])
        letters = list(tagged.letters)
        for page, page_id in zip(tagged.pages, page_ids, strict=True):
            try:
                if failure := tagged.failures.get(page.doc_id):
                    raise failure
                of_page: list[dict[str, Any]] = []
                numbered = enumerate(windows(page, vocabulary, self.max_length))
                for number, window in numbered:
                    targets = self.task.targets(page, window, self.labels) if isinstance(self.task, TagsWords) else None
                    of_page.append(row_of(page, number, window, targets))
            except Exception as error:
                letters.append(_letter(error, page, page_id))
            else:
                rows += of_page
        return rows, letters

    def _documents(self, pages: Sequence[Page], page_ids: Sequence[str], vocabulary: Tokenizer) -> _RowsAndLetters:
        """Rows and letters of the documents whose first page is in `pages`."""
        rows: list[dict[str, Any]] = []
        letters: list[DeadLetter] = []
        ids = {(page.doc_id, page.number): page_id for page, page_id in zip(pages, page_ids, strict=True)}
        for document, document_pages in whole_documents(self.data_sets, {page.doc_id for page in pages}, pages):
            first = document_pages[0]
            if (page_id := ids.get((document.doc_id, first.number))) is None:
                continue
            try:
                row, cuts = self._document(document, document_pages, vocabulary)
            except Exception as error:
                letters.append(_letter(error, first, page_id))
            else:
                rows += row
                letters += cuts
        return rows, letters

    def _document(self, document: Document, pages: Sequence[Page], vocabulary: Tokenizer) -> _RowsAndLetters:
        """Row and letters of one document. Raises DocumentError if the document lacks the text that the task needs."""
        window, length = document_window(pages, vocabulary, self.max_length)
        limits, labels = [(Reason.CUT, "the document", length, self.max_length, "max_length")], None
        if isinstance(self.task, WritesTexts):
            if document.partial:
                message = "only some values of the document are known, and the task writes all; finish its review"
                raise DocumentError(Reason.NOT_ANNOTATED, message, stage="encode")
            text, longest = vocabulary.text_to_ids(self.task.text(document)), self.task.writing.max_length
            labels = text[:longest] if len(text) > longest else [*text, vocabulary.end_id]
            limits.append((Reason.TEXT_CUT, "the expected text", len(text), longest, "task.writing.max_length"))
        cuts = [
            document_letter(
                document,
                reason,
                f"{what} has {length} tokens, only the first {longest} are used; increase {key} to use more",
            )
            for reason, what, length, longest, key in limits
            if length > longest
        ]
        return [row_of(pages[0], 0, window, labels)] if window else [], cuts


def _letter(error: Exception, page: Page, page_id: str) -> DeadLetter:
    failure = as_document_error(error, "encode")
    return DeadLetter.of(failure, source=page.source, doc_id=page.doc_id, page_id=page_id, page=page.number)


def filtered_pages(pages: pa.Table, filters: Filters) -> tuple[pa.Table, Counter[str]]:
    """The rows of a PAGES table that pass `filters`, and the number of rows that each filter refuses.

    A refused page counts for the first filter that refuses it.
    """
    if filters == Filters():
        return pages, Counter()
    refusals = [filters.failed_filter(page) for page in codec.pages_of(pages)]
    return pages.filter(pa.array([not refusal for refusal in refusals], pa.bool_())), Counter(filter(None, refusals))


def vocabulary_for(
    recipe: TokenizerRecipe,
    data_sets: Sequence[DataSet],
    filters: Filters,
    task: Task | None = None,
    fetch: Fetch = str,
) -> Tokenizer:
    """The recipe's tokenizer: loaded from its path, or trained on the training pages that pass `filters`.

    Args:
        task: if its model generates fields, the vocabulary must contain their names, so it is trained on the expected
            texts too.
        fetch: gives the folder or address of the recipe's path.

    Raises:
        InputError: if a loaded vocabulary does not contain these names.
    """
    generated = fields_of(task) if isinstance(task, WritesTexts) else {}
    if not recipe.path:
        return tokenizer.train_wordpiece(_training_words(data_sets, filters, generated), recipe.vocab_size)
    loaded = checkpoint.read_vocabulary(fetch(recipe.path))
    for name in generated:
        line = f"{name}: {name}"
        decoded = loaded.ids_to_text(loaded.text_to_ids(line))
        if not parse(decoded, [name]):
            raise InputError(
                f"the vocabulary of {recipe.path} turns the line {line!r} into {decoded!r}, which does not name the "
                "field; rename the field, use another vocabulary, or leave tokenizer.path empty to train one"
            )
    return loaded


def labels_for(task: Task, data_sets: Iterable[DataSet]) -> tuple[str, ...]:
    """Names of the model's outputs: from the task's fields or, without fields, from the tags of all pages.

    Empty for a task that tags no words.
    """
    if not isinstance(task, TagsWords):
        return ()
    if fields := fields_of(task):
        return task.label_names([[f"B-{name}" for name in fields]])
    if isinstance(task, LabelsPages):
        return task.label_names([[f"B-{part.kind}"] for one in read_documents([*data_sets]) for part in parts_of(one)])
    page_tags = (
        tags
        for data_set in data_sets
        for table in data_set.scan_pages(["tags"])
        for tags in table["tags"].to_pylist()
        if tags
    )
    return task.label_names([tag for tag in tags if tag is not None] for tags in page_tags)


def pages_digest(page_ids: Iterable[str]) -> int:
    """The sum of the pages' SHA-256, modulo 2**256. It does not depend on their order, and parts can be added."""
    return sum(int.from_bytes(hashlib.sha256(page_id.encode()).digest()) for page_id in page_ids) % 2**256


def digest_of(encoder: Encoder, pages: int) -> str:
    """Identity of the examples of the pages with digest `pages`."""
    return hashlib.sha256(f"{encoder!r} {pages % 2**256:x}".encode()).hexdigest()[:16]


def _training_words(data_sets: Sequence[DataSet], filters: Filters, fields: Collection[str]) -> Iterator[str]:
    """Words of the training pages, and of the expected texts of the training documents with `fields`."""
    for data_set in data_sets:
        for table in data_set.scan_pages(filter=pc.field("split") == "train"):
            for words in filtered_pages(table, filters)[0]["words"].to_pylist():
                yield from words
    for document in read_documents(data_sets, pc.field("split") == "train") if fields else ():
        yield from to_lines(field for field in document.fields if field.name in fields).split()
