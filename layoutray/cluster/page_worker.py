"""The actors of an ingest. This module imports only what they need, because every worker process imports it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from layoutray.document import Page
from layoutray.ocr.settings import Recognition
from layoutray.prepare import record_codecs
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask
from layoutray.prepare.recognise import make_word_source, open_document, recognise_page
from layoutray.prepare.record_codecs import DOCUMENT_REF, OPENED_DOCUMENT, PAGE_TASK
from layoutray.store.dead_letter import DeadLetter

_RECEIPT = pa.schema([("reasons", pa.list_(pa.string()))])
_SECONDS_PER_ROW = 2.0
"""Time for which a worker collects results: Ray forwards about ten rows per second from each worker to the driver."""

Result = TypeVar("Result")


class DocumentOpener:
    """Opens a batch of document references and yields the opened documents, packed, in a few rows."""

    def __init__(self, reader: str, words: str, recognition: Recognition) -> None:
        self._words = make_word_source(reader, words, recognition).__enter__()

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        references = record_codecs.from_table(batch, DOCUMENT_REF)
        for opened in _grouped(open_document(self._words, reference) for reference in references):
            yield record_codecs.to_table(map(OPENED_DOCUMENT.pack, opened))


class PageWorker:
    """Processes a batch of page tasks and commits it. Yields the reason of each page, empty for a success."""

    def __init__(self, reader: str, words: str, recognition: Recognition, out: str) -> None:
        self._words = make_word_source(reader, words, recognition).__enter__()
        self._output = Output(out)

    def __call__(self, batch: pa.Table) -> Iterator[pa.Table]:
        tasks = list(record_codecs.from_table(batch, PAGE_TASK))
        for results in _grouped(self._process(tasks)):
            reasons = [result.reason if isinstance(result, DeadLetter) else "" for result in results]
            yield pa.Table.from_pylist([{"reasons": reasons}], schema=_RECEIPT)

    def _process(self, tasks: Sequence[PageTask]) -> Iterator[Page | DeadLetter]:
        results: list[Page | DeadLetter] = []
        for task in tasks:
            results.append(recognise_page(self._words, task))
            if len(results) == len(tasks):
                self._output.commit(tasks, results)  # before the last page counts as done
            yield results[-1]


def _grouped(results: Iterable[Result]) -> Iterator[list[Result]]:
    group: list[Result] = []
    start = time.monotonic()
    for result in results:
        group.append(result)
        if time.monotonic() - start >= _SECONDS_PER_ROW:
            yield group
            group, start = [], time.monotonic()
    if group:
        yield group
