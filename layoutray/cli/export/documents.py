"""`layoutray export alto`, `hocr` and `searchable-pdf`: one file for each document of a data set."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from unicodedata import normalize
from urllib.parse import unquote

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.cli.shared.output_folder import new_folder
from layoutray.document import Page
from layoutray.errors import DocumentError, InputError
from layoutray.formats import alto as alto_files
from layoutray.formats import hocr as hocr_files
from layoutray.formats import searchable_pdf as pdf_files
from layoutray.store import shards, sources
from layoutray.store.answer_set import pages_folder
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of every verb that writes documents."""

    pages: str = options.pages()
    out: str = option(help="new folder or s3:// address for the files, one for each document")


def alto(arguments: Sequence[str] | None = None) -> int:
    return _export("export alto", arguments, ".xml", alto_files.alto)


def hocr(arguments: Sequence[str] | None = None) -> int:
    return _export("export hocr", arguments, ".hocr", hocr_files.hocr)


def searchable_pdf(arguments: Sequence[str] | None = None) -> int:
    return _export("export searchable-pdf", arguments, ".pdf", pdf_files.searchable_pdf, needs_picture=True)


def _export(
    verb: str,
    arguments: Sequence[str] | None,
    suffix: str,
    write: Callable[[Sequence[Page]], bytes],
    *,
    needs_picture: bool = False,
) -> int:
    """Write all documents in one format and say how many. Returns exit status 1 if one could not be written.

    Args:
        write: makes the file of a document, from its pages in order (at least one). May raise DocumentError.
    """
    chosen = options.given(verb, arguments, ExportOptions)
    with new_folder(chosen.out) as out:
        documents = written = without_picture = failed = 0
        for name, pages in _documents(DataSet(pages_folder(chosen.pages)), suffix):
            usable = [page for page in pages if page.image or not needs_picture]
            without_picture += len(pages) - len(usable)
            if not usable:
                continue
            try:
                content = write(usable)
            except DocumentError as error:
                terminal.say(f"{usable[0].source} is left out: {error}")
                failed += len(usable)
                continue
            shards.write_bytes(content, out, name)
            documents, written = documents + 1, written + len(usable)
        if without_picture and not written + failed:
            raise InputError(
                f"none of the {without_picture} pages in {chosen.pages} has a picture; "
                "ingest them from pictures or PDF files"
            )
        terminal.say(f"{written} pages in {documents} files: {chosen.out}")
        if without_picture:
            terminal.say(f"{without_picture} pages without a picture are left out")
        return 1 if failed else 0


def _documents(data_set: DataSet, suffix: str) -> Iterator[tuple[str, list[Page]]]:
    """File name and pages of each document, as soon as all its pages have been read: they lie close together in a set.

    The name is that of the source, with `suffix` in place of its own; with the document's id where several would be
    equal, or where it would be longer than a file system allows.
    """
    num_pages: Counter[str] = Counter()
    stems: dict[str, str] = {}
    for table in data_set.scan_pages(["doc_id", "source"]):
        num_pages.update(table["doc_id"].to_pylist())
        for doc_id, source in zip(table["doc_id"].to_pylist(), table["source"].to_pylist(), strict=True):
            local = sources.local_path(source)
            name = local.name if local else unquote(source.rpartition("/")[2])
            stems[doc_id] = PurePosixPath(name).stem.encode(errors="replace").decode() or "document"
    count_of = Counter(normalize("NFC", stem) for stem in stems.values())
    names = {
        doc_id: _file_name(stem, doc_id, suffix, is_alone=count_of[normalize("NFC", stem)] == 1)
        for doc_id, stem in stems.items()
    }
    waiting: dict[str, list[Page]] = {}
    for page in data_set.read_pages():
        pages = waiting.setdefault(page.doc_id, [])
        pages.append(page)
        if len(pages) == num_pages[page.doc_id]:
            yield names[page.doc_id], sorted(waiting.pop(page.doc_id), key=lambda page: page.number)


def _file_name(stem: str, doc_id: str, suffix: str, *, is_alone: bool) -> str:
    if is_alone and len((stem + suffix).encode()) <= sources.LONGEST_NAME:
        return stem + suffix
    ending = f"-{doc_id[:16]}{suffix}"
    return stem.encode()[: sources.LONGEST_NAME - len(ending)].decode(errors="ignore") + ending
