"""The folder that ingest fills: what is in it, how pages are committed to it, how superseded rows leave it.

`pages/` and `dead_letters/` hold shards, `documents/` the truth of the documents, `opened/` what
need not be opened again, `manifest.json` the counts. A commit is
a pair of shards named after the units that it answers, so doing the same units again replaces them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.prepare.page_tasks import PageTask, Plan
from layoutray.store import codec, shards, sources
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS, PAGES
from layoutray.store.spilled import SpilledDict, keys, texts

_ONE_SHARD = "part-all.parquet"
_WRITTEN_TOGETHER = 16384


@dataclass(frozen=True, slots=True)
class Done:
    """What a folder holds already.

    Attributes:
        pages: page id → split.
        dead: page ids of the pages that failed.
    """

    pages: SpilledDict[str]
    dead: SpilledDict[str]

    def __contains__(self, unit: PageTask) -> bool:
        return self.pages.get(unit.page_id) == unit.item.split or unit.page_id in self.dead


@dataclass(frozen=True, slots=True)
class Output:
    """One such folder, by URI."""

    root: str

    @property
    def pages(self) -> str:
        return sources.join(self.root, "pages")

    @property
    def dead_letters(self) -> str:
        return sources.join(self.root, "dead_letters")

    @property
    def documents(self) -> str:
        return sources.join(self.root, "documents")

    @property
    def opened(self) -> str:
        return sources.join(self.root, "opened")

    def done(self) -> Done:
        """What is there already. Raises SchemaError when the folder holds something else."""
        done = Done(texts(), texts())
        for table in scan(self.pages, PAGES, ["page_id", "split"]):
            for page_id, split in zip(table["page_id"].to_pylist(), table["split"].to_pylist(), strict=True):
                done.pages[page_id] = split
        for table in scan(self.dead_letters, DEAD_LETTERS, ["page_id"]):
            for page_id in filter(None, table["page_id"].to_pylist()):
                done.dead[page_id] = ""
        return done

    def letters(self) -> list[DeadLetter]:
        """The dead letters that are there."""
        tables = scan(self.dead_letters, DEAD_LETTERS, DEAD_LETTERS.names)
        return list(chain.from_iterable(map(codec.dead_letters_of, tables)))

    def documents_there(self) -> Iterator[Document]:
        """The documents that are there."""
        return chain.from_iterable(map(codec.documents_of, scan(self.documents, DOCUMENTS, DOCUMENTS.names)))

    def forget(self, page_ids: Collection[str]) -> None:
        """Drop the dead letters of these pages: they are to do again, like pages that no run has come to yet."""
        for uri in shards.shards(self.dead_letters):
            keep = [
                page_id not in page_ids
                for page_id in shards.read(uri, DEAD_LETTERS, ["page_id"])["page_id"].to_pylist()
            ]
            if not all(keep):
                _rewrite(uri, self.dead_letters, DEAD_LETTERS, keep)

    def clear_half_written(self) -> None:
        """Delete what a killed run left behind under hidden names."""
        for folder in (self.pages, self.dead_letters, self.documents, self.opened):
            shards.remove_half_written(folder)

    def commit(self, units: Sequence[PageTask], results: Sequence[Page | DeadLetter]) -> None:
        """Write the results of `units`, which run in parallel."""
        name = shards.part_name(unit.page_id for unit in units)
        pages = [
            (unit.page_id, result) for unit, result in zip(units, results, strict=True) if isinstance(result, Page)
        ]
        letters = [result for result in results if isinstance(result, DeadLetter)]
        # Killed between the two, the pages that failed are done again: none is lost, none is there twice.
        if pages:
            shards.write(
                codec.pages_table((page for _, page in pages), (page_id for page_id, _ in pages)), self.pages, name
            )
        if letters:
            shards.write(codec.dead_letters_table(letters), self.dead_letters, name)

    def reconcile(self, plan: Plan) -> None:
        """Bring the folder to what `plan` says: superseded and repeated rows leave, documents are written.

        Rows of documents that the plan does not know (of an earlier run over other files) stay.
        """
        names = chain.from_iterable((document.doc_id, document.source) for document in plan.documents)
        known = keys(chain(names, (duplicate.source for duplicate in plan.duplicates)))
        wanted = splits_of(plan.units)
        there = _prune(self.pages, PAGES, lambda row: wanted.get(row["page_id"]) == row["split"], known)
        # A page that failed in one run and worked in another is a page; a document that cannot be opened is tried by every run.
        tried = keys(chain((letter.source for letter in plan.letters), plan.without_picture))
        _prune(
            self.dead_letters,
            DEAD_LETTERS,
            lambda row: row["page_id"] in wanted and row["page_id"] not in there,
            known,
            tried,
        )
        if plan.letters:
            name = shards.part_name(letter.source for letter in plan.letters)
            shards.write(codec.dead_letters_table(plan.letters), self.dead_letters, name)
        others = (
            document
            for document in self.documents_there()
            if document.doc_id not in known and document.source not in known
        )
        documents = chain(others, plan.documents)
        together = iter(lambda: list(islice(documents, _WRITTEN_TOGETHER)), [])
        shards.write_all(map(codec.documents_table, together), DOCUMENTS, self.documents, _ONE_SHARD)


def splits_of(units: Iterable[PageTask]) -> SpilledDict[str]:
    """Page id → split."""
    splits = texts()
    for unit in units:
        splits[unit.page_id] = unit.item.split
    return splits


def scan(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str],
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[pa.Table]:
    """Columns of a data set, a batch of rows at a time; nothing where there is none yet."""
    return shards.scan(folder, schema, columns, filter) if shards.shards(folder) else iter(())


def _prune(
    folder: str, schema: pa.Schema, is_wanted: Callable[[Mapping[str, Any]], bool], *known: SpilledDict[str]
) -> SpilledDict[str]:
    """Drop rows of known documents or sources that are not wanted, and repeats. Returns the page ids that stay."""
    seen = texts()
    columns = [name for name in ("doc_id", "source", "page_id", "split") if name in schema.names]
    for uri, table in shards.read_each(folder, schema, columns):
        keep: list[bool] = []
        for row in table.to_pylist():
            stays = is_wanted(row) or not any(row["doc_id"] in names or row["source"] in names for names in known)
            keep.append(stays and row["page_id"] not in seen)
            if keep[-1] and row["page_id"]:
                seen[row["page_id"]] = ""
        if not all(keep):
            _rewrite(uri, folder, schema, keep)
    return seen


def _rewrite(uri: str, folder: str, schema: pa.Schema, keep: Sequence[bool]) -> None:
    kept = shards.read(uri, schema).filter(pa.array(keep, pa.bool_()))
    written = (
        shards.write(kept, folder, shards.part_name([*kept["page_id"].to_pylist(), *kept["source"].to_pylist()]))
        if kept.num_rows
        else ""
    )
    if written != uri:
        shards.remove([uri])
