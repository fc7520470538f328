"""Accuracy of automatic tagging: values of annotated entities are located again from their texts."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.measure.tagging import score_tagging
from benchmarks.mlflow_log import log
from layoutray import config
from layoutray.cli.shared import terminal
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE, kind_of
from layoutray.errors import InputError
from layoutray.store.data_set import DataSet


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tagging", description=__doc__)
    parser.add_argument("pages", help="folder of pages with entities that `layoutray ingest` has written")
    parser.add_argument(
        "--values",
        help="folder of the same documents from another word source; its entities give the values (default: PAGES)",
    )
    parser.add_argument(
        "--field",
        action="append",
        required=True,
        metavar="ENTITY=TYPE",
        help="an entity type of the pages and the type of its field; repeatable",
    )
    options = parser.parse_args(arguments)
    schema = dict(_field(text) for text in options.field)
    pages = _pages(options.pages)
    present = {kind_of(word.tag) for page in pages for word in page.words if word.tag} - {OUTSIDE}
    if unknown := schema.keys() - present:
        raise InputError(
            f"{options.pages} has no entities {', '.join(sorted(unknown))}; "
            f"it has {', '.join(sorted(present)) or 'no entities at all'}"
        )
    accuracy = score_tagging(pages, _pages(options.values) if options.values else pages, schema)
    rows = [
        (name, counts.expected, *("-" if share is None else f"{share:.3f}" for share in shares))
        for name, counts in accuracy.words.items()
        for shares in [(counts.precision, counts.recall, counts.f1)]
    ]
    title = f"Words tagged from {accuracy.values} values, of which {accuracy.missing} were not found"
    terminal.show_table(title, ("field", "annotated words", "precision", "recall", "F1"), rows)
    log("tagging", {name: str(value) for name, value in vars(options).items()}, asdict(accuracy), {})
    sys.stdout.write(json.dumps(asdict(accuracy)) + "\n")
    return 0


def _field(text: str) -> tuple[str, FieldType]:
    name, equals, kind = text.partition("=")
    if not (name and equals and kind):
        raise InputError(f"--field is {text!r}; it must be ENTITY=TYPE, e.g. total=amount")
    return name, config.build(FieldType, {"type": kind}, f"--field {text}")


def _pages(folder: str) -> list[Page]:
    return list(DataSet(folder).read_pages())
