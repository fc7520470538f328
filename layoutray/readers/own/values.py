"""Files of one's own, with the wanted values in one table: `values.csv` or `values.jsonl` in the folder of the files.

docs/fields.md explains the table. docs/packets.md explains the one with the heading `file,pages,kind`, whose rows
become values of the field `part`, such as `4-6 invoice`.

Only files that the table names are read. Values have no positions. Every mistake is named with its line.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from layoutray.document import Field
from layoutray.document.packets import PART, part_field, wrong_part
from layoutray.errors import DocumentError, InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import comparable, file_name, folder_of, json_uri, named, nothing_found, text_of
from layoutray.store import sources

TABLES = ("values.csv", "values.jsonl")
_HEADING = ("file", "field", "value")
_ROW = "row"
_PARTS_HEADING = ("file", "pages", "kind")
_SEPARATORS = ",", ";", "\t"
_SEPARATOR = re.compile(r"sep=([,;\t])\r?\n", re.IGNORECASE)
"""The first line with which Excel is told the separator."""
_INERT = re.compile(r"^'(?=\s*[=+\-@])")
"""What keeps a spreadsheet from computing a text; `export values` writes it."""
_SHOWN = 10
"""Mistakes that are named; of more, the number."""

_Row = tuple[int, str, str, str, str]
"""Line, file, field, value, and the number of the record or an empty text."""
_Value = tuple[str, str, int | None]
"""Field, value, number of the record."""


class _Values:
    name = "values"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        """The documents of all tables below `root`. Raises InputError for mistakes in a table."""
        files = set(sources.list_files(root))
        tables = sorted(uri for uri in files if file_name(uri).name in TABLES)
        if not tables:
            raise nothing_found(root, f"{' or '.join(TABLES)} beside the files whose values it has")
        for table in tables:
            for uri, fields in _documents(table, files).items():
                yield DocumentRef(key=uri, source=uri, image=uri, annotation=json_uri(fields), split="")

    def read(self, reference: DocumentRef) -> Truth:
        doc_id = sources.content_id(sources.read_bytes(reference.source))
        fields = (Field(*value) for value in json.loads(sources.read_bytes(reference.annotation)))
        return Truth(document=reference.document(doc_id, 0, fields), pages=())


def _documents(table: str, files: set[str]) -> dict[str, list[_Value]]:
    """The fields and values of each file that a table names. Raises InputError for its mistakes."""
    mistakes: list[str] = []
    documents: dict[str, list[_Value]] = defaultdict(list)
    below = folder_of(table) + "/"
    names = {uri.removeprefix(below): uri for uri in sorted(files) if uri.startswith(below)}
    beside = {comparable(uri).removeprefix(comparable(below)): uri for uri in names.values()} | names
    read = _csv_rows if table.endswith(".csv") else _json_rows
    try:
        text = text_of(sources.read_bytes(table), table)
    except DocumentError as error:
        raise InputError(str(error)) from error
    for line, file, field, value, row in read(text, mistakes):
        uri = named(file, beside)
        record = int(row) if row.isdecimal() else None
        empty = [name for name, cell in zip(_HEADING, (file, field, value), strict=True) if not cell]
        if empty:
            advice = "; delete the row if the file has none" * (empty == ["value"])
            mistakes.append(f"line {line}: no {' and no '.join(empty)}{advice}")
        elif not uri:
            near = get_close_matches(file, beside, n=1)
            mistakes.append(f"line {line}: no file {file!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        elif row and not record:
            mistakes.append(f"line {line}: row is {row!r}; it must be a number from 1 on, or empty")
        elif field == PART and (
            problem := wrong_part(value, (text for name, text, _ in documents[uri] if name == PART))
        ):
            mistakes.append(f"line {line}: {problem}")
        elif (field, value, record) in documents[uri]:
            where = f" in row {record}" if record else ""
            mistakes.append(f"line {line}: {field} = {value!r} of {file!r} is there twice{where}")
        else:
            documents[uri].append((field, value, record))
    if mistakes:
        more = [f"and {len(mistakes) - _SHOWN} more"] if len(mistakes) > _SHOWN else []
        raise InputError("\n  ".join([f"mistakes in {table}:", *mistakes[:_SHOWN], *more]))
    return documents


def _csv_rows(text: str, mistakes: list[str]) -> Iterator[_Row]:
    stated = _SEPARATOR.match(text)
    heading = text[stated.end() if stated else 0 :].partition("\n")[0]
    separator = stated[1] if stated else max(_SEPARATORS, key=heading.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    if stated:
        next(reader)
    try:
        found = tuple(cell.strip().lower() for cell in next(reader, []))
        found = found[: max((number for number, cell in enumerate(found, 1) if cell), default=0)]
        if found not in (_HEADING, (*_HEADING, _ROW), _PARTS_HEADING):
            allowed = (
                f"{separator.join(_HEADING)!r}, with a row for each value, or "
                f"{separator.join((*_HEADING, _ROW))!r} for records, or "
                f"{separator.join(_PARTS_HEADING)!r} for the documents of packets"
            )
            mistakes.append(
                f"line {reader.line_num or 1}: the heading is {heading.strip()!r:.80}; it must be {allowed}"
            )
            return
        for row in reader:
            cells = [_INERT.sub("", cell.strip()) for cell in row]
            if len(cells) > len(found) and not any(cells[len(found) :]):  # columns that a spreadsheet saves empty
                del cells[len(found) :]
            if len(cells) == len(found) and any(cells):
                file, field, value = cells[: len(_HEADING)]
                if found == _PARTS_HEADING:
                    field, value = PART, value and part_field(value, field).value
                yield reader.line_num, file, field, value, "".join(cells[len(_HEADING) :])
            elif any(cells):
                mistakes.append(f"line {reader.line_num}: {len(cells)} cells; it must have {len(found)}")
    except csv.Error as error:
        mistakes.append(f"after line {reader.line_num}: not CSV ({error}); is a quotation mark missing?")


def _json_rows(text: str, mistakes: list[str]) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError as error:
            mistakes.append(f"line {number}: not JSON ({error})")
            continue
        if not isinstance(values, dict) or not isinstance(values.get("file"), str):
            mistakes.append(f"line {number}: it must be an object with a text `file`")
            continue
        yield from _json_values(number, values, mistakes)


def _json_values(line: int, values: Mapping[str, Any], mistakes: list[str]) -> Iterator[_Row]:
    records = 0
    for field, content in values.items():
        for value in () if field == "file" else content if isinstance(content, list) else [content]:
            if isinstance(value, dict):
                records += 1
                members = [(name, of_record, str(records)) for name, of_record in value.items()]
            else:
                members = [(field, value, "")]
            for name, text, row in members:
                if isinstance(text, str | int | float) and not isinstance(text, bool):
                    yield line, values["file"].strip(), name.strip(), str(text).strip(), row
                else:
                    mistakes.append(
                        f"line {line}: {name} is {text!r:.80}; it must be a text, a number, or a list of them"
                    )


READER = _Values()
