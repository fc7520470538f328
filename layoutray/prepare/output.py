"""The data set that ingest writes: which pages it contains, how pages are committed, how superseded rows are removed.

A commit writes a pair of shards, one of pages and one of dead letters. Their name is made from the page tasks, so a
repeated commit of the same tasks replaces both.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.prepare.page_tasks import PageTask, Plan
from layoutray.prepare.record_codecs import PAGE_TASK
from layoutray.store import codec, shards, sources
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS, PAGES
from layoutray.store.spilled import TEXT, SpilledDict, SpilledList, spilled_set

_DOCUMENTS_SHARD = "part-all.parquet"
_DOCUMENTS_PER_TABLE = 16384


@dataclass(frozen=True, slots=True)
class Done:
    """The page ids of pages that earlier runs have processed: of those that have a row, and of those that failed."""

    pages: SpilledDict[str]
    dead: SpilledDict[str]

    def __contains__(self, task: PageTask) -> bool:
        return task.page_id in self.pages or task.page_id in self.dead

    def remaining_pages(self, plan: Plan) -> SpilledList[PageTask]:
        tasks = SpilledList(PAGE_TASK)
        tasks.extend(task for task in plan.page_tasks if task not in self)
        return tasks


@dataclass(frozen=True, slots=True)
class Output(DataSet):
    """A data set that ingest writes. The folder may be empty, or not exist yet."""

    def done(self) -> Done:
        """Pages that the folder contains. Raises SchemaError if it contains another kind of table."""
        done = Done(SpilledDict(TEXT), SpilledDict(TEXT))
        for table in scan_existing(self.pages, PAGES, ["page_id"]):
            for page_id in table["page_id"].to_pylist():
                done.pages[page_id] = ""
        for table in scan_existing(self.dead_letters, DEAD_LETTERS, ["page_id"]):
            for page_id in filter(None, table["page_id"].to_pylist()):
                done.dead[page_id] = ""
        return done

    def written_documents(self) -> Iterator[Document]:
        """Documents that earlier runs have written; none in a new folder."""
        return self.read_documents() if shards.shards(self.documents) else iter(())

    def drop_dead_letters(self, page_ids: Collection[str]) -> None:
        """Delete the dead letters of these pages. The next run processes the pages again."""
        for uri in shards.shards(self.dead_letters):
            letter_ids = shards.read(uri, DEAD_LETTERS, ["page_id"])["page_id"].to_pylist()
            keep = [page_id not in page_ids for page_id in letter_ids]
            if not all(keep):
                _rewrite(uri, self.dead_letters, DEAD_LETTERS, keep)

    def clear_half_written(self) -> None:
        for folder in (self.pages, self.dead_letters, self.documents, self.opened):
            shards.remove_half_written(folder)

    def commit(self, tasks: Sequence[PageTask], results: Sequence[Page | DeadLetter]) -> None:
        """Write the results of `tasks`, which are in the same order."""
        pages = [
            (task.page_id, result) for task, result in zip(tasks, results, strict=True) if isinstance(result, Page)
        ]
        letters = [result for result in results if isinstance(result, DeadLetter)]
        pages_table = codec.pages_table((page for _, page in pages), (page_id for page_id, _ in pages))
        letters_table = codec.dead_letters_table(letters)
        name = shards.part_name(task.page_id for task in tasks)
        # If the process is killed between the two writes, the next run repeats the failed pages only.
        if pages:
            shards.write(pages_table, self.pages, name)
        if letters:
            shards.write(letters_table, self.dead_letters, name)

    def reconcile(self, plan: Plan) -> None:
        """Make the folder agree with `plan`: move rows to their splits, remove superseded ones, write the documents.

        Rows of documents that are not in the plan, from an earlier run over other files, stay.
        """
        ids_and_sources = chain.from_iterable((document.doc_id, document.source) for document in plan.documents)
        planned = spilled_set(chain(ids_and_sources, (duplicate.source for duplicate in plan.duplicates)))
        splits = splits_of(plan.page_tasks)
        _move(self.pages, splits)
        pages = _prune(self.pages, PAGES, lambda row: row["page_id"] in splits, planned)
        # A page that failed in one run and worked in another is a page. Every run tries to open unopened documents.
        unopened = spilled_set(chain((letter.source for letter in plan.letters), plan.without_picture))
        _prune(
            self.dead_letters,
            DEAD_LETTERS,
            lambda row: row["page_id"] in splits and row["page_id"] not in pages,
            planned,
            unopened,
        )
        if plan.letters:
            name = shards.part_name(letter.source for letter in plan.letters)
            shards.write(codec.dead_letters_table(plan.letters), self.dead_letters, name)
        others = (
            document
            for document in self.written_documents()
            if document.doc_id not in planned and document.source not in planned
        )
        rows = chain(others, plan.documents)
        batches = iter(lambda: list(islice(rows, _DOCUMENTS_PER_TABLE)), [])
        shards.write_all(map(codec.documents_table, batches), DOCUMENTS, self.documents, _DOCUMENTS_SHARD)


def splits_of(tasks: Iterable[PageTask]) -> SpilledDict[str]:
    """Page id → split."""
    splits = SpilledDict(TEXT)
    for task in tasks:
        splits[task.page_id] = task.reference.split
    return splits


def scan_existing(
    folder: str,
    schema: pa.Schema,
    columns: Sequence[str],
    filter: pc.Expression | None = None,  # noqa: A002
) -> Iterator[pa.Table]:
    """Columns of a folder of shards, one batch of rows at a time; nothing if there are no shards."""
    return shards.scan(folder, schema, columns, filter) if shards.shards(folder) else iter(())


def _move(folder: str, splits: SpilledDict[str]) -> None:
    """Write the planned split into the rows of a folder of pages that have another one."""
    for uri, table in shards.read_each(folder, PAGES, ["page_id", "split"]) if shards.shards(folder) else ():
        before = table["split"].to_pylist()
        pairs = zip(table["page_id"].to_pylist(), before, strict=True)
        after = [splits.get(page_id) or split for page_id, split in pairs]
        if after != before:
            rows = shards.read(uri, PAGES)
            place = rows.schema.get_field_index("split")
            moved = rows.set_column(place, rows.schema.field(place), pa.array(after, rows.schema.field(place).type))
            shards.write(moved, folder, sources.name(uri))


def _prune(
    folder: str, schema: pa.Schema, is_wanted: Callable[[Mapping[str, Any]], bool], *planned: SpilledDict[str]
) -> SpilledDict[str]:
    """Remove repeated rows, and unwanted rows whose document or source is in `planned`. Returns the other page ids."""
    seen = SpilledDict(TEXT)
    columns = [name for name in ("doc_id", "source", "page_id", "split") if name in schema.names]
    for uri, table in shards.read_each(folder, schema, columns):
        keep: list[bool] = []
        for row in table.to_pylist():
            stays = is_wanted(row) or not any(row["doc_id"] in names or row["source"] in names for names in planned)
            keep.append(stays and row["page_id"] not in seen)
            if keep[-1] and row["page_id"]:
                seen[row["page_id"]] = ""
        if not all(keep):
            _rewrite(uri, folder, schema, keep)
    return seen


def _rewrite(uri: str, folder: str, schema: pa.Schema, keep: Sequence[bool]) -> None:
    kept = shards.read(uri, schema).filter(pa.array(keep, pa.bool_()))
    if kept.num_rows:
        name = shards.part_name([*kept["page_id"].to_pylist(), *kept["source"].to_pylist()])
        if shards.write(kept, folder, name) == uri:
            return
    shards.remove([uri])
