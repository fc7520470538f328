"""Copies of annotated training pages with the errors of one's own OCR, as a data set to train on beside the pages."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Page
from layoutray.document.reading_errors import ReadingErrors, word_pairs
from layoutray.errors import InputError
from layoutray.prepare.align import best_matches
from layoutray.prepare.whole_documents import page_shards
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet

_TRAIN = pc.field("split") == "train"


def learn_errors(annotated: DataSet, read: DataSet) -> ReadingErrors:
    """The errors in the training pages of `read`, whose words come from OCR, measured against those of `annotated`.

    Pages are the same if document and page number are.

    Raises:
        InputError: if the sets have no training page in common, or no word of one is at the place of a word of the
            other.
        SchemaError: if a folder is not a data set.
    """
    annotated.check()
    shards_of = page_shards(annotated)
    errors, pages = ReadingErrors(), 0
    for table in read.scan_pages(filter=_TRAIN):
        uris = {uri for doc_id in set(table["doc_id"].to_pylist()) for uri in shards_of.get(doc_id, ())}
        truth = {(page.doc_id, page.number): page for page in _training_pages(sorted(uris), table["doc_id"])}
        for page in codec.pages_of(table):
            if (of_truth := truth.get((page.doc_id, page.number))) is not None:
                pages += 1
                matches = best_matches(page.words, of_truth.words)
                for annotated_text, read_text in word_pairs(of_truth.words, page.words, matches):
                    errors.learn(annotated_text, read_text)
    if not errors.characters:
        raise InputError(
            f"{annotated.folder} and {read.folder} have {pages} training pages in common, and no word at the same "
            "place; ingest the same files twice, once with words=annotation and once with words=ocr"
        )
    return errors


def write_misread(annotated: DataSet, errors: ReadingErrors, seed: int, out: DataSet) -> int:
    """Write the training pages of `annotated` with `errors`, and their documents, to `out`. Returns their number.

    A copy is a document of its own, so that it can be encoded together with the original.
    """
    count = 0
    for table in annotated.scan_pages(filter=_TRAIN):
        pages = [_misread(page, errors, seed) for page in codec.pages_of(table)]
        ids = [_copy_id(page_id, seed) for page_id in table["page_id"].to_pylist()]
        shards.write(codec.pages_table(pages, ids), out.pages, shards.part_name(ids))
        count += len(pages)
    has_documents = bool(shards.shards(annotated.documents))  # a mix has none
    for table in annotated.scan_documents(_TRAIN) if has_documents else ():
        ids = [_copy_id(doc_id, seed) for doc_id in table["doc_id"].to_pylist()]
        column = table.column_names.index("doc_id")
        copies = table.set_column(column, table.schema.field(column), pa.array(ids, pa.string()))
        shards.write(copies, out.documents, shards.part_name(ids))
    return count


def _training_pages(uris: Sequence[str], doc_ids: pa.ChunkedArray) -> Iterator[Page]:
    for uri in uris:
        yield from codec.pages_of(shards.read_shard(uri).filter(_TRAIN & pc.field("doc_id").isin(doc_ids.unique())))


def _misread(page: Page, errors: ReadingErrors, seed: int) -> Page:
    reason = "characters changed as the owner's OCR misreads them"
    return replace(
        errors.applied(page, seed),
        doc_id=_copy_id(page.doc_id, seed),
        provenance=replace(page.provenance, reason=reason),
    )


def _copy_id(original: str, seed: int) -> str:
    """Identity of the copy of a document or page."""
    return hashlib.sha256(f"{original} misread {seed}".encode()).hexdigest()
