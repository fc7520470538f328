"""How right automatic tagging is: the values of marked entities are found again without their places."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from layoutray import config
from layoutray.bench.tagging import retag
from layoutray.cli import terminal
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE, kind_of
from layoutray.errors import InputError
from layoutray.store import codec, shards, sources
from layoutray.store.schema import PAGES
from pipelines._report import log


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark tagging", description=__doc__)
    parser.add_argument("pages", help="folder that `layoutray ingest` has written, of pages with entities")
    parser.add_argument(
        "--values", help="the same documents read in another way, whose entities say the values (default: PAGES)"
    )
    parser.add_argument(
        "--field",
        action="append",
        required=True,
        metavar="ENTITY=TYPE",
        help="an entity type of the pages, and its type of field",
    )
    options = parser.parse_args(arguments)
    schema = dict(_field(text) for text in options.field)
    pages = _pages(options.pages)
    there = {kind_of(word.tag) for page in pages for word in page.words if word.tag} - {OUTSIDE}
    if unknown := schema.keys() - there:
        raise InputError(
            f"{options.pages} has no entities {', '.join(sorted(unknown))}; there are {', '.join(sorted(there)) or 'none at all'}"
        )
    found = retag(pages, _pages(options.values) if options.values else pages, schema)
    rows = [
        (name, score.support, *(f"{share:.3f}" for share in (score.precision, score.recall, score.f1)))
        for name, score in found.words.items()
    ]
    title = f"Words tagged from {found.values} values, of which {found.missing} were found nowhere"
    terminal.show_table(title, ("field", "marked words", "precision", "recall", "F1"), rows)
    log("tagging", {name: str(value) for name, value in vars(options).items()}, asdict(found), {})
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 0


def _field(text: str) -> tuple[str, FieldType]:
    name, equals, kind = text.partition("=")
    if not (name and equals and kind):
        raise InputError(f"--field is {text!r}; it must be ENTITY=TYPE, such as total=amount")
    return name, config.build(FieldType, {"type": kind}, f"--field {text}")


def _pages(folder: str) -> list[Page]:
    return list(codec.pages_of(shards.read(sources.join(folder, "pages"), PAGES)))


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
