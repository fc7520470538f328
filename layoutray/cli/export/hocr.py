"""`layoutray export hocr`: one hOCR file for each document."""

from collections.abc import Sequence

from layoutray.cli.export.documents import DocumentFormat, export
from layoutray.formats.hocr import hocr


def main(arguments: Sequence[str] | None = None) -> int:
    return export("export hocr", arguments, DocumentFormat(".hocr", hocr))
