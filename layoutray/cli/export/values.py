"""`layoutray export values`: what the form fields of fillable PDF files state, as a table for `ingest-values`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path, PurePosixPath

from layoutray import config
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.document.field_type import FieldType
from layoutray.document.form_answers import is_drawn, values_as_drawn
from layoutray.errors import InputError
from layoutray.formats.spreadsheet import csv_file
from layoutray.prepare.form_check import FoundField, form_fields
from layoutray.prepare.manifest import Manifest
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
    names = _names(chosen.fields) if chosen.fields else None
    found = list(form_fields(DataSet(folder)))
    if not found:
        raise InputError(f"no page of {chosen.pages} has a form field; ingest fillable PDF files")
    if names:
        _check_names(names, {one.field.name for one in found})
    stated = [
        (one, name)
        for one in found
        for name in ([one.field.name] if names is None else names.get(one.field.name, ()))
        if one.field.values and (names or one.field.kind in _WITH_TEXT)
    ]
    shown = [(one, name) for one, name in stated if is_drawn(one.field)]
    root = Manifest.read(folder).source
    rows = {(_file(one, root, chosen.suffix), name, text) for one, name in shown for text in values_as_drawn(one.field)}
    shards.write_file(csv_file([("file", "field", "value"), *sorted(rows)]), out)
    terminal.say(f"{len(rows)} values of {len({file for file, *_ in rows})} files: {chosen.out}")
    if len(shown) < len(stated):
        terminal.say(f"{len(stated) - len(shown)} values are left out, as the page shows another value or none")
    return 0


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


def _file(found: FoundField, root: str, suffix: str) -> str:
    """The name of a file below the folder `root`, with another ending if `suffix` is one."""
    below = found.source.removeprefix(root.rstrip("/") + "/")
    name = sources.name(found.source) if below == found.source else below
    return str(PurePosixPath(name).with_suffix(suffix)) if suffix else name
