"""What runs on the workers of an ingest. Imports nothing that its work does not need: every worker pays for it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from layoutray.document import Page
from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask, items_of, opened_table, units_of
from layoutray.prepare.recognise import lane, open_item, recognise_unit
from layoutray.store.dead_letter import DeadLetter

_RECEIPT = pa.schema([("reasons", pa.list_(pa.string()))])
_TOGETHER = 2.0
"""Seconds for which a worker collects what it tells the driver: Ray hands on about ten rows a second from each worker."""

Done = TypeVar("Done")


class DocumentOpener:
    """Opens a batch of documents: rows of `items_table` in, some `opened_table`s out."""

    def __init__(self, reader: str, words: str, recognition: Recognition) -> None:
        self._lane = lane(reader, words, recognition).__enter__()

    def __call__(self, items: pa.Table) -> Iterator[pa.Table]:
        for opened in _together(open_item(self._lane, item) for item in items_of(items)):
            yield opened_table(opened)


class PageWorker:
    """Does a batch of pages and commits it: rows of `units_table` in; out, some rows of reasons, empty for each page that worked."""

    def __init__(self, reader: str, words: str, recognition: Recognition, out: str) -> None:
        self._lane = lane(reader, words, recognition).__enter__()
        self._output = Output(out)

    def __call__(self, units: pa.Table) -> Iterator[pa.Table]:
        for done in _together(self._do(list(units_of(units)))):
            reasons = [result.reason if isinstance(result, DeadLetter) else "" for result in done]
            yield pa.Table.from_pylist([{"reasons": reasons}], schema=_RECEIPT)

    def _do(self, units: Sequence[PageTask]) -> Iterator[Page | DeadLetter]:
        results: list[Page | DeadLetter] = []
        for unit in units:
            results.append(recognise_unit(self._lane, unit))
            if len(results) == len(units):
                self._output.commit(units, results)
            yield results[-1]


def _together(done: Iterable[Done]) -> Iterator[list[Done]]:
    group: list[Done] = []
    since = time.monotonic()
    for one in done:
        group.append(one)
        if time.monotonic() - since >= _TOGETHER:
            yield group
            group, since = [], time.monotonic()
    if group:
        yield group
