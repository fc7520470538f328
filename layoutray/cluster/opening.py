"""Open the documents of an ingest: only those that are new or have changed, in this process or in the workers."""

from collections.abc import Callable, Iterable, Iterator

from layoutray.cluster.connect import connect, num_workers
from layoutray.cluster.page_worker import DocumentOpener
from layoutray.cluster.progress import Progress
from layoutray.cluster.worker_pool import WorkerPool
from layoutray.prepare import record_codecs
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.page_tasks import OpenedDocument
from layoutray.prepare.recognise import ATTEMPTS, make_word_source, open_document
from layoutray.prepare.record_codecs import DOCUMENT_REF, OPENED_DOCUMENT, reference_key
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.spilled import SpilledDict, SpilledList

_OPENED_IN_PROCESS = 1000
"""Up to this number, opening documents in this process is faster than starting workers."""
_DOCUMENTS_PER_BATCH = 256


def open_documents(
    references: SpilledList[DocumentRef],
    recipe: IngestRecipe,
    progress: Callable[[Progress], None],
    workers: int | None = None,
    before: OpenedBefore | None = None,
) -> SpilledDict[OpenedDocument]:
    """Open documents.

    Args:
        workers: number of worker processes for many documents; default: one for each core of the cluster.
        before: documents that need not be opened again if they have not changed. What is opened is added to them.

    Returns:
        All documents by `reference_key`, recalled or opened.
    """
    changed, opened = SpilledList(DOCUMENT_REF), SpilledDict(OPENED_DOCUMENT)
    for reference in references:
        recalled = before and before.recall(reference)
        if recalled:
            opened[reference_key(reference)] = recalled
        else:
            changed.append(reference)
    in_process = len(changed) <= _OPENED_IN_PROCESS
    results = _open_in_process(changed, recipe) if in_process else _open_in_workers(changed, recipe, workers)
    for count, result in enumerate(results, start=1):
        opened[reference_key(result.reference)] = result
        progress(Progress(stage="open", done=count, total=len(changed)))
    if before and changed:
        before.store(opened[reference_key(reference)] for reference in changed)
    return opened


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
        pool = WorkerPool(
            actor=DocumentOpener,
            arguments=arguments,
            workers=workers or num_workers(),
            batch_size=_DOCUMENTS_PER_BATCH,
            deadline=deadline,
        )
        for table in pool.map(references):
            yield from record_codecs.from_table(table, OPENED_DOCUMENT)
