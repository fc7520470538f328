"""Shared by the verbs that write one file for each document of a data set."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.output_folder import new_folder
from layoutray.document import Page
from layoutray.errors import DocumentError, InputError
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of every verb that writes documents."""

    pages: str
    out: str


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format of documents.

    Attributes:
        suffix: of the files.
        write: the file of a document, from its pages in order (at least one). May raise DocumentError.
        can_hold: whether a page can be written.
        lacks: what a page lacks that cannot be written, for messages.
    """

    suffix: str
    write: Callable[[Sequence[Page]], bytes]
    can_hold: Callable[[Page], bool] = lambda _: True
    lacks: str = ""


def export(verb: str, arguments: Sequence[str] | None, form: DocumentFormat) -> int:
    """Write all documents in one format and say how many. Returns exit status 1 if one could not be written."""
    parser = options.parser(verb)
    parser.add_argument("pages", help="folder written by `layoutray ingest`, or by `layoutray predict` from files")
    parser.add_argument("out", help=f"new folder or s3:// address for the {form.suffix} files, one for each document")
    chosen = options.parse(parser, arguments, ExportOptions)
    out = new_folder(chosen.out)
    counts = _write(DataSet(pages_folder(chosen.pages)), form, out)
    if counts["lacking"] and not counts["pages"] + counts["failed"]:
        raise InputError(
            f"none of the {counts['lacking']} pages in {chosen.pages} has {form.lacks}; "
            "ingest them from pictures or PDF files"
        )
    terminal.say(f"{counts['pages']} pages in {counts['documents']} files: {chosen.out}")
    if counts["lacking"]:
        terminal.say(f"{counts['lacking']} pages without {form.lacks} are left out")
    return 1 if counts["failed"] else 0


def pages_folder(folder: str) -> str:
    """The data set in `folder`: `predict` keeps the pages that it has read from files in `ingested`."""
    inside = sources.join(folder, "ingested")
    return inside if sources.exists(inside) else folder


def _write(data_set: DataSet, form: DocumentFormat, out: str) -> Counter[str]:
    """Write the documents. The result counts `documents`, and `pages`, `lacking` and `failed` pages."""
    counts: Counter[str] = Counter()
    for name, pages in _documents(data_set):
        usable = [page for page in pages if form.can_hold(page)]
        counts["lacking"] += len(pages) - len(usable)
        if not usable:
            continue
        try:
            content = form.write(usable)
        except DocumentError as error:
            terminal.say(f"{usable[0].source} is left out: {error}")
            counts["failed"] += len(usable)
            continue
        shards.write_bytes(content, out, name + form.suffix)
        counts["documents"] += 1
        counts["pages"] += len(usable)
    return counts


def _documents(data_set: DataSet) -> Iterator[tuple[str, list[Page]]]:
    """Name and pages of each document, as soon as all its pages have been read: they lie close together in a set."""
    num_pages: Counter[str] = Counter()
    named: dict[str, str] = {}
    for table in data_set.scan_pages(["doc_id", "source"]):
        num_pages.update(table["doc_id"].to_pylist())
        named.update(zip(table["doc_id"].to_pylist(), table["source"].to_pylist(), strict=True))
    names = _file_names(named)
    waiting: dict[str, list[Page]] = {}
    for page in data_set.read_pages():
        pages = waiting.setdefault(page.doc_id, [])
        pages.append(page)
        if len(pages) == num_pages[page.doc_id]:
            yield names[page.doc_id], sorted(waiting.pop(page.doc_id), key=lambda page: page.number)


def _file_names(named: Mapping[str, str]) -> dict[str, str]:
    """Names of files by document id: that of the source, without suffix; with the id where several would be equal."""
    stems = {doc_id: _stem(source) for doc_id, source in named.items()}
    repeated = {stem for stem, count in Counter(stems.values()).items() if count > 1}
    return {doc_id: f"{stem}-{doc_id[:16]}" if stem in repeated else stem for doc_id, stem in stems.items()}


def _stem(source: str) -> str:
    local = sources.local_path(source)
    name = local.name if local else unquote(source.rpartition("/")[2])
    return PurePosixPath(name).stem.encode(errors="replace").decode() or "document"
