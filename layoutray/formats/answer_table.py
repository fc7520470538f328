"""The values in a folder of answers as one CSV file: a row for each value of a document, for spreadsheets.

The columns are `document`, `field`, `value` and `confidence`. The value of a field is that of its `FieldAnswer`; a
model without fields gives the text of its entities.
"""

import json
from collections.abc import Iterator
from typing import Any

from layoutray.formats.spreadsheet import csv_file
from layoutray.store import shards, sources
from layoutray.store.answer_set import AnswerSet
from layoutray.store.schema import FIELDS

_COLUMNS = ("document", "field", "value", "confidence")


def table(answers: AnswerSet) -> bytes:
    """The file. Documents without any value have no row."""
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
