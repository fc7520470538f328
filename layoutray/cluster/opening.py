"""Open the documents of an ingest: only those that are new or have changed, in this process or in the workers."""

from collections.abc import Callable, Iterable, Iterator

from layoutray.cluster.connect import connect, num_workers
from layoutray.cluster.page_worker import DocumentOpener
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.worker_pool import WorkerPool
from layoutray.prepare import record_codecs
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument
from layoutray.prepare.recognise import ATTEMPTS, make_word_source, open_document
from layoutray.prepare.record_codecs import DOCUMENT_REF, OPENED_DOCUMENT, reference_key
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.spilled import SpilledDict, SpilledList

_OPENED_IN_PROCESS = 1000
"""Up to this number, opening documents in this process is faster than starting workers."""
_DOCUMENTS_PER_BATCH = 256


def open_changed_documents(
    references: SpilledList[DocumentRef],
    recipe: IngestRecipe,
    output: Output,
    root: str,
    progress: Callable[[Progress], None],
    workers: int | None = None,
) -> SpilledDict[OpenedDocument]:
    """Open the documents that `output` does not know or that have changed.

    Args:
        workers: number of worker processes; default: one for each core of the cluster.

    Returns:
        All documents by `reference_key`, recalled or opened.
    """
    before = OpenedBefore.load(output, root, recipe)
    changed, opened = SpilledList(DOCUMENT_REF), SpilledDict(OPENED_DOCUMENT)
    for reference in references:
        recalled = before.recall(reference)
        if recalled is None:
            changed.append(reference)
        else:
            opened[reference_key(reference)] = recalled
    for result in open_documents(changed, recipe, progress, workers):
        opened[reference_key(result.reference)] = result
    if changed:
        before.store(opened[reference_key(reference)] for reference in changed)
    return opened


def open_all_documents(
    references: SpilledList[DocumentRef], recipe: IngestRecipe, progress: Callable[[Progress], None]
) -> SpilledDict[OpenedDocument]:
    """Open all documents. Returns them by `reference_key`."""
    opened = SpilledDict(OPENED_DOCUMENT)
    for result in open_documents(references, recipe, progress):
        opened[reference_key(result.reference)] = result
    return opened


def open_documents(
    references: SpilledList[DocumentRef],
    recipe: IngestRecipe,
    progress: Callable[[Progress], None] = ignore_progress,
    workers: int | None = None,
) -> Iterator[OpenedDocument]:
    """Open documents, in any order.

    Args:
        workers: number of worker processes for many documents; default: one for each core of the cluster.
    """
    in_process = len(references) <= _OPENED_IN_PROCESS
    opened = _open_in_process(references, recipe) if in_process else _open_in_workers(references, recipe, workers)
    for count, result in enumerate(opened, start=1):
        progress(Progress("open", count, len(references)))
        yield result


def _open_in_process(references: Iterable[DocumentRef], recipe: IngestRecipe) -> Iterator[OpenedDocument]:
    with make_word_source(recipe.reader, recipe.words, recipe.recognition) as words:
        for reference in references:
            yield open_document(words, reference)


def _open_in_workers(
    references: SpilledList[DocumentRef], recipe: IngestRecipe, workers: int | None
) -> Iterator[OpenedDocument]:
    with connect():
        arguments = {"reader": recipe.reader, "words": recipe.words, "recognition": recipe.recognition}
        deadline = ATTEMPTS * recipe.recognition.deadline
        pool = WorkerPool(DocumentOpener, arguments, workers or num_workers(), _DOCUMENTS_PER_BATCH, deadline)
        for table in pool.map(references):
            yield from record_codecs.from_table(table, OPENED_DOCUMENT)
