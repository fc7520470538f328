"""`layoutray export searchable-pdf`: one PDF file for each document, its own pages under invisible words."""

from collections.abc import Sequence

from layoutray.cli.export.documents import DocumentFormat, export
from layoutray.formats.searchable_pdf import searchable_pdf


def main(arguments: Sequence[str] | None = None) -> int:
    form = DocumentFormat(".pdf", searchable_pdf, can_hold=lambda page: bool(page.image), lacks="a picture")
    return export("export searchable-pdf", arguments, form)
