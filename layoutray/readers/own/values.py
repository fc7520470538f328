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
from collections.abc import Iterator, Mapping, Sequence
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
            advice = "; delete the row if the file has none" if empty == ["value"] else ""
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
    first = text[stated.end() if stated else 0 :].partition("\n")[0]
    separator = stated[1] if stated else max(_SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    if stated:
        next(reader)
    try:
        heading = [cell.strip() for cell in next(reader, [])]
        while heading and not heading[-1]:  # columns that a spreadsheet saves empty
            heading.pop()
        found = tuple(map(str.lower, heading))
        if found not in (_HEADING, (*_HEADING, _ROW), _PARTS_HEADING) and not _names_fields(found):
            values, records, parts = map(separator.join, (_HEADING, (*_HEADING, _ROW), _PARTS_HEADING))
            mistakes.append(
                f"line {reader.line_num or 1}: the heading is {separator.join(heading)!r:.80}; it must be 'file' and "
                f"the names of fields, or {values!r}, or {records!r} for records, or {parts!r} for packets"
            )
            return
        for row in reader:
            cells = [_INERT.sub("", cell.strip()) for cell in row]
            if len(cells) > len(found) and not any(cells[len(found) :]):
                del cells[len(found) :]
            if any(cells) and len(cells) != len(found):
                mistakes.append(f"line {reader.line_num}: {len(cells)} cells; it must have {len(found)}")
            elif any(cells) and _names_fields(found):
                file, *values = cells
                named_values = zip(heading[1:], values, strict=True)
                yield from ((reader.line_num, file, name, value, "") for name, value in named_values if value)
            elif any(cells):
                file, field, value = cells[: len(_HEADING)]
                if found == _PARTS_HEADING:
                    field, value = PART, value and part_field(value, field).value
                yield reader.line_num, file, field, value, "".join(cells[len(_HEADING) :])
    except csv.Error as error:
        mistakes.append(f"after line {reader.line_num}: not CSV ({error}); is a quotation mark missing?")


def _names_fields(heading: Sequence[str]) -> bool:
    """Whether a heading in lower case is `file` and the names of fields, so that a row has the values of a file."""
    reserved = {*_HEADING[1:], _ROW, _PARTS_HEADING[1]}
    return heading[:1] == ("file",) and any(heading[1:]) and reserved.isdisjoint(heading)


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
