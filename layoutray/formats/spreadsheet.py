"""CSV files that people open in a spreadsheet."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from layoutray.store import shards, sources
from layoutray.store.answer_set import AnswerSet
from layoutray.store.schema import FIELDS

_COLUMNS = ("document", "field", "value", "confidence")
_FORMULA = re.compile(r"\s*[=+\-@]")
_NUMBER = re.compile(r"[+-]?[\d.,]+")


def csv_file(rows: Iterable[Sequence[Any]]) -> bytes:
    """The rows as CSV in UTF-8. A text that a spreadsheet would compute as a formula gets a leading apostrophe."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_inert(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _inert(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\r", " ")  # which the module csv would write without quotation marks, as the end of a row
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def answer_table(answers: AnswerSet) -> bytes:
    """The values in a folder of answers as a CSV file, a row for each; without fields, the texts of entities."""
    found = _fields(answers) if shards.shards(answers.fields) else _entities(answers)
    rows = ((*row, f"{confidence:.4f}") for *row, confidence in sorted(found, key=lambda row: row[:2]))
    return csv_file([_COLUMNS, *rows])


def _fields(answers: AnswerSet) -> Iterator[tuple[Any, ...]]:
    columns = ("source", "name", "value", "confidence")
    for part in shards.scan(answers.fields, FIELDS, columns):
        yield from zip(*(part[name].to_pylist() for name in columns), strict=True)


def _entities(answers: AnswerSet) -> Iterator[tuple[Any, ...]]:
    for uri in sources.list_files(answers.lines):
        for answer in map(json.loads, sources.read_bytes(uri).splitlines()):
            for entity in answer.get("entities", ()):
                yield answer["source"], entity["type"], entity["content"], entity["confidence"]
