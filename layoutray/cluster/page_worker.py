"""What runs on the workers of an ingest. Imports nothing that its work does not need: every worker pays for it."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.prepare.recognise import lane, open_item, recognise_unit
from layoutray.prepare.units import items_of, opened_table, units_of
from layoutray.store.dead_letter import DeadLetter

RECEIPT = pa.schema([("page_id", pa.string()), ("reason", pa.string())])
"""One row for each page that was done: the reason is empty where it worked."""


class DocumentOpener:
    """Opens a batch of documents: rows of `items_table` in, rows of `opened_table` out, one for one."""

    def __init__(self, reader: str, words: str, recognition: Recognition) -> None:
        self._lane = lane(reader, words, recognition).__enter__()

    def __call__(self, items: pa.Table) -> Iterator[pa.Table]:
        for item in items_of(items):
            yield opened_table([open_item(self._lane, item)])


class PageWorker:
    """Does a batch of pages and commits it: rows of `units_table` in, receipts out, one for one."""

    def __init__(self, reader: str, words: str, recognition: Recognition, out: str) -> None:
        self._lane = lane(reader, words, recognition).__enter__()
        self._output = Output(out)

    def __call__(self, units: pa.Table) -> Iterator[pa.Table]:
        todo = list(units_of(units))
        results: list[Any] = []
        for unit in todo:
            results.append(recognise_unit(self._lane, unit))
            if len(results) == len(todo):
                self._output.commit(todo, results)
            reason = results[-1].reason if isinstance(results[-1], DeadLetter) else ""
            yield pa.Table.from_pylist([{"page_id": unit.page_id, "reason": reason}], schema=RECEIPT)
