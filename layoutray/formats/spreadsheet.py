"""CSV files that people open in a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

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
