"""The folder of a data set. No other module knows the names of its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.errors import SchemaError
from layoutray.store import codec, folder_kind, shards, sources
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS, PAGES

DEAD_LETTERS_FOLDER = "dead_letters"
"""Folder of DEAD_LETTERS shards. A folder of EXAMPLES has one of the same name."""
TRUTH_SHEET, TRUTH_LIST = "truth.png", "truth.json"
_LANGUAGE = "language.json"
_MANIFEST = "manifest.json"
_MIX_SUMMARY = "mix.json"


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set that `ingest` or `mix` has written, in a local folder or an object store.

    | part | content |
    | --- | --- |
    | `pages/` | PAGES shards |
    | `documents/` | DOCUMENTS shards: the expected fields of each document; a mix has none |
    | `dead_letters/` | DEAD_LETTERS shards: documents and pages that failed; absent if nothing failed |
    | `opened/` | OPENED shards: files that the next run does not open again if they have not changed |
    | `truth.json`, `truth.png` | labels that are suspicious or were not found; absent without labels |
    | `language.json` | the language that `language = "auto"` has found; absent otherwise |
    | `manifest.json` | counts of an ingest; written last |
    | `mix.json` | content of a mix; written last |
    """

    folder: str
    pages = sources.Part("pages")
    documents = sources.Part("documents")
    dead_letters = sources.Part(DEAD_LETTERS_FOLDER)
    opened = sources.Part("opened")
    language = sources.Part(_LANGUAGE)
    manifest = sources.Part(_MANIFEST)

    def check(self) -> None:
        """Raise SchemaError if the folder is not a data set."""
        if any(map(sources.exists, (self.pages, self.documents, self.dead_letters, self.manifest))):
            return
        parent, _, name = self.folder.rstrip("/").rpartition("/")
        if name in ("pages", "documents") and shards.shards(self.folder):
            raise SchemaError(
                f"{self.folder} is the folder `{name}` inside a data set; "
                f"give the folder of the data set, {parent or '.'}"
            )
        raise SchemaError(
            f"{self.folder} is not a data set: {folder_kind.found_at(self.folder) or 'it does not contain `pages`'}; "
            "give a folder that `layoutray ingest` or `layoutray mix` has written"
        )

    def scan_pages(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002
    ) -> Iterator[pa.Table]:
        """PAGES rows that pass `filter`, one batch at a time. Raises SchemaError if the folder has no pages."""
        self.check()
        yield from shards.scan(self.pages, PAGES, columns, filter)

    def read_pages(self, filter: pc.Expression | None = None) -> Iterator[Page]:  # noqa: A002
        """Pages that pass `filter`. Raises SchemaError if the folder has no pages."""
        return chain.from_iterable(map(codec.pages_of, self.scan_pages(filter=filter)))

    def read_documents(self, filter: pc.Expression | None = None) -> Iterator[Document]:  # noqa: A002
        """Documents that pass `filter`. Raises SchemaError if the folder has no documents."""
        return chain.from_iterable(map(codec.documents_of, self.scan_documents(filter)))

    def scan_documents(self, filter: pc.Expression | None = None) -> Iterator[pa.Table]:  # noqa: A002
        """DOCUMENTS rows that pass `filter`, one batch at a time. Raises SchemaError if the folder has no documents."""
        self.check()
        yield from shards.scan(self.documents, DOCUMENTS, filter=filter)

    def read_dead_letters(self) -> list[DeadLetter]:
        if not shards.shards(self.dead_letters):
            return []
        return list(codec.dead_letters_of(shards.read(self.dead_letters, DEAD_LETTERS)))

    def write_manifest(self, data: bytes) -> None:
        shards.write_bytes(data, self.folder, _MANIFEST)

    def write_language(self, data: bytes) -> None:
        shards.write_bytes(data, self.folder, _LANGUAGE)

    def write_private(self, data: bytes, name: str) -> None:
        """Write a file that shows text of documents. On a local disk only its owner may read it."""
        local = sources.local_path(shards.write_bytes(data, self.folder, name))
        if local:
            local.chmod(0o600)

    def write_mix_summary(self, data: bytes) -> None:
        shards.write_bytes(data, self.folder, _MIX_SUMMARY)

    def remove_mix_summary(self) -> None:
        shards.remove([sources.join(self.folder, _MIX_SUMMARY)])


def is_ingested(folder: str) -> bool:
    """Whether `ingest` has completed a data set in `folder`; else it is a folder of files, or anything else."""
    return sources.exists(DataSet(folder).manifest)
