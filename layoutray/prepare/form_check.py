"""Compare the values of form fields with what the pages show: how many there are, and which of them differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow.compute as pc

from layoutray.document.form_answers import is_drawn
from layoutray.document.form_field import FormField
from layoutray.store import codec
from layoutray.store.data_set import DataSet

_SHOWN = 5


class FoundField(NamedTuple):
    """A form field on a page of a document."""

    source: str
    page: int
    field: FormField


@dataclass(slots=True)
class FormCheck:
    """Counts of form fields, each where it stands.

    Attributes:
        filled: those with a value, boxes that are on, and signed ones.
        differing: fields that state another value than the page shows.
        first: some of these.
    """

    fields: int
    filled: int
    differing: int
    first: list[FoundField]

    def counts(self) -> dict[str, int]:
        """Numbers for the manifest."""
        return {"fields": self.fields, "filled": self.filled, "differing": self.differing}


def form_fields(data_set: DataSet) -> Iterator[FoundField]:
    """The form fields of all pages."""
    columns = ["source", "page", "form_fields"]
    for table in data_set.scan_pages(columns, pc.field("form_fields").is_valid()):
        for row in table.to_pylist():
            yield from (FoundField(row["source"], row["page"], codec.form_field_of(one)) for one in row["form_fields"])


def check_forms(data_set: DataSet) -> FormCheck | None:
    """Check the form fields of a data set; None if it has none."""
    check = FormCheck(0, 0, 0, [])
    for found in form_fields(data_set):
        check.fields += 1
        check.filled += bool(found.field.value) if found.field.on is None else found.field.on
        if not is_drawn(found.field):
            check.differing += 1
            if len(check.first) < _SHOWN:
                check.first.append(found)
    return check if check.fields else None
