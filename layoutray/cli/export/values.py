"""`layoutray export values`: what the form fields of fillable PDF files state, as a table for `ingest-values`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile
from pathlib import Path, PurePosixPath

from layoutray import config
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.document.field_type import FieldType
from layoutray.document.form_answers import is_drawn, values_as_drawn
from layoutray.errors import InputError
from layoutray.formats.spreadsheet import csv_file
from layoutray.prepare.form_check import FoundField, form_fields
from layoutray.store import shards, sources
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet

_WITH_TEXT = ("text", "choice")


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
        help="ending of the files that the table is to name, for example .png for pictures of the forms (default: that "
        "of the forms)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("export values", arguments, ValuesOptions)
    out, folder = sources.absolute(chosen.out), pages_folder(chosen.pages)
    if sources.exists(out):
        raise InputError(f"{chosen.out} exists; give another file, or delete it")
    if not re.fullmatch(r"(\.\w+)?", chosen.suffix):
        raise InputError(f"--suffix is {chosen.suffix!r}; it must be an ending such as .png")
    names = _names(chosen.fields) if chosen.fields else None
    found = list(form_fields(DataSet(folder)))
    if not found:
        raise InputError(f"no page of {chosen.pages} has a form field; ingest fillable PDF files")
    if names is not None:
        _check_names(names, {one.field.name for one in found})
    else:
        names = {one.field.name: [one.field.name] for one in found if one.field.kind in _WITH_TEXT}
    stated = [one for one in found if one.field.name in names and one.field.values]
    shown = [one for one in stated if is_drawn(one.field)]
    rows = sorted({*_rows(shown, names, chosen.suffix, _depth(found))})
    shards.write_file(csv_file([("file", "field", "value"), *rows]), out)
    terminal.say(f"{len(rows)} values of {len({file for file, *_ in rows})} files: {chosen.out}")
    if differing := len(stated) - len(shown):
        terminal.say(f"{differing} form fields are left out, as the page shows another value or none")
    return 0


def _rows(
    found: Sequence[FoundField], names: Mapping[str, Sequence[str]], suffix: str, depth: int
) -> Iterator[tuple[str, str, str]]:
    """File, field and value. A file is named without the first `depth` parts of its path.

    Args:
        suffix: other ending of the files, or empty.
    """
    for one in found:
        path = PurePosixPath(*one.source.split("/")[depth:])
        file = str(path.with_suffix(suffix) if suffix else path)
        for name in names.get(one.field.name, ()):
            yield from ((file, name, value) for value in values_as_drawn(one.field))


def _depth(found: Sequence[FoundField]) -> int:
    """Parts of the path of the folder that has all files."""
    folders = (one.source.split("/")[:-1] for one in found)
    return len([*takewhile(lambda parts: len({*parts}) == 1, zip(*folders, strict=False))])


def _names(file: str) -> dict[str, list[str]]:
    """The fields that each form field states, as the section [task.fields] of a file says."""
    names: dict[str, list[str]] = {}
    section = config.read_toml(Path(file)).get("task", {}).get("fields", {})
    for name, keys in section.items():
        for form_field in config.build(FieldType, keys, f"task.fields.{name}").form_fields:
            names.setdefault(form_field, []).append(name)
    if not names:
        raise InputError(
            f"{file} names no form fields; add a section [task.fields], for example with "
            'total = { type = "amount", form_fields = ["invoice.total"] }'
        )
    return names


def _check_names(names: Mapping[str, object], known: set[str]) -> None:
    """Raise InputError for a form field that no page has."""
    for name in names.keys() - known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)[:10])}"
        raise InputError(f"no page has the form field {name!r}; {hint}")
