"""`layoutray export alto`: one ALTO 4 file for each document."""

from collections.abc import Sequence

from layoutray.cli.export.documents import DocumentFormat, export
from layoutray.formats.alto import alto


def main(arguments: Sequence[str] | None = None) -> int:
    return export("export alto", arguments, DocumentFormat(".xml", alto))
