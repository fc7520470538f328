"""`layoutray export values`: what the form fields of fillable PDF files state, as a table for `ingest-values`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath

import pyarrow.compute as pc

from layoutray import config
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.document.field_type import FieldType
from layoutray.document.form_answers import is_drawn, values_as_drawn
from layoutray.errors import InputError
from layoutray.formats.spreadsheet import csv_file
from layoutray.store import shards, sources
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class ValuesOptions:
    """Options of `layoutray export values`."""

    pages: str = options.pages()
    out: str = option(help="new file or s3:// address: values.csv, beside the files that it is to be the truth of")
    fields: str = option(
        "--fields",
        default="",
        metavar="FILE",
        help=".toml file with a section [task.fields] whose fields name their `form_fields` (default: all texts and "
        "choices, under the names that they have in the form)",
    )
    suffix: str = option(
        "--suffix",
        default="",
        help="ending of the files that the table is to name, for example png (default: that of the forms)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("export values", arguments, ValuesOptions)
    out, data_set = sources.absolute(chosen.out), DataSet(pages_folder(chosen.pages))
    if sources.exists(out):
        raise InputError(f"{chosen.out} exists; give another file, or delete it")
    mapped = _mapped(chosen.fields) if chosen.fields else None
    pages = data_set.read_pages(pc.field("form_fields").is_valid())
    found = [(page.source.split("/"), field) for page in pages for field in page.form_fields]
    texts = {field.name: [field.name] for _, field in found if field.on is None}
    names = texts if mapped is None else mapped
    if unknown := names.keys() - {field.name for _, field in found}:
        raise InputError(f"no page has the form field {min(unknown)!r}; compare its name with those without --fields")
    stated = [(path, field) for path, field in found if field.name in names and field.values]
    if not stated:
        raise InputError(f"no page of {chosen.pages} has a form field that is filled; ingest fillable PDF files")
    # Files are named below the folder that has all of them.
    depth = len([*takewhile(lambda parts: len({*parts}) == 1, zip(*(path[:-1] for path, _ in found), strict=False))])
    shown = [(PurePosixPath(*path[depth:]), field) for path, field in stated if is_drawn(field)]
    suffix = "." + chosen.suffix.removeprefix(".")
    rows = {
        (str(file.with_suffix(suffix) if chosen.suffix else file), name, value)
        for file, field in shown
        for name in names[field.name]
        for value in values_as_drawn(field)
    }
    shards.write_file(csv_file([("file", "field", "value"), *sorted(rows)]), out)
    terminal.say(f"{len(rows)} values of {len({file for file, *_ in rows})} files: {chosen.out}")
    if differing := len(stated) - len(shown):
        terminal.say(f"{differing} form fields are left out, as the page shows another value or none")
    return 0


def _mapped(file: str) -> Mapping[str, Sequence[str]]:
    """The fields that each form field states, as the section [task.fields] of a file says."""
    section = config.read_toml(Path(file)).get("task", {}).get("fields", {})
    kinds = {name: config.build(FieldType, keys, f"task.fields.{name}") for name, keys in section.items()}
    forms = {form_field for kind in kinds.values() for form_field in kind.form_fields}
    if not forms:
        example = 'total = { type = "amount", form_fields = ["invoice.total"] }'
        raise InputError(f"{file} names no form fields; add a section [task.fields], for example with {example}")
    return {form: [name for name, kind in kinds.items() if form in kind.form_fields] for form in forms}
