"""The folder that ingest fills: what is in it, how pages are committed to it, how superseded rows leave it.

`pages/` and `dead_letters/` hold shards, `documents/` the truth of the documents, `opened/` what
need not be opened again, `manifest.json` the counts. A commit is
a pair of shards named after the units that it answers, so doing the same units again replaces them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.prepare.units import Plan, Unit
from layoutray.store import codec, shards, sources
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS, PAGES

_ONE_SHARD = "part-all.parquet"


@dataclass(frozen=True, slots=True)
class Done:
    """What a folder holds already.

    Attributes:
        pages: page id → split.
        dead: page ids of the pages that failed.
    """

    pages: dict[str, str]
    dead: frozenset[str]

    def __contains__(self, unit: Unit) -> bool:
        return unit.page_id in self.dead or self.pages.get(unit.page_id) == unit.item.split


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
        pages = rows(self.pages, PAGES, ["page_id", "split"])
        dead = rows(self.dead_letters, DEAD_LETTERS, ["page_id"])
        splits = dict(zip(pages["page_id"].to_pylist(), pages["split"].to_pylist(), strict=True))
        return Done(splits, frozenset(dead["page_id"].to_pylist()) - {""})

    def letters(self) -> list[DeadLetter]:
        """The dead letters that are there."""
        return list(codec.dead_letters_of(rows(self.dead_letters, DEAD_LETTERS, DEAD_LETTERS.names)))

    def documents_there(self) -> list[Document]:
        """The documents that are there."""
        return list(codec.documents_of(rows(self.documents, DOCUMENTS, DOCUMENTS.names)))

    def forget(self, page_ids: Collection[str]) -> None:
        """Drop the dead letters of these pages: they are to do again, like pages that no run has come to yet."""
        for uri in shards.shards(self.dead_letters):
            keep = [page_id not in page_ids for page_id in shards.read(uri, DEAD_LETTERS, ["page_id"])["page_id"].to_pylist()]
            if not all(keep):
                _rewrite(uri, self.dead_letters, DEAD_LETTERS, keep)

    def clear_half_written(self) -> None:
        """Delete what a killed run left behind under hidden names."""
        for folder in (self.pages, self.dead_letters, self.documents, self.opened):
            shards.remove_half_written(folder)

    def commit(self, units: Sequence[Unit], results: Sequence[Page | DeadLetter]) -> None:
        """Write the results of `units`, which run in parallel."""
        name = shards.part_name(unit.page_id for unit in units)
        pages = [(unit.page_id, result) for unit, result in zip(units, results, strict=True) if isinstance(result, Page)]
        letters = [result for result in results if isinstance(result, DeadLetter)]
        # Killed between the two, the pages that failed are done again: none is lost, none is there twice.
        if pages:
            shards.write(codec.pages_table((page for _, page in pages), (page_id for page_id, _ in pages)), self.pages, name)
        if letters:
            shards.write(codec.dead_letters_table(letters), self.dead_letters, name)

    def settle(self, plan: Plan) -> None:
        """Bring the folder to what `plan` says: superseded and repeated rows leave, documents are written.

        Rows of documents that the plan does not know (of an earlier run over other files) stay.
        """
        known = {name for document in plan.documents for name in (document.doc_id, document.source)}
        known |= {duplicate.source for duplicate in plan.duplicates}
        wanted = {(unit.page_id, unit.item.split) for unit in plan.units}
        pages = _prune(self.pages, PAGES, ("page_id", "split"), known, wanted)
        # A page that failed in one run and worked in another is a page; a document that cannot be opened is tried by every run.
        failed = {(page_id,) for page_id, _ in wanted if page_id not in pages}
        accounted = known | {letter.source for letter in plan.letters} | set(plan.without_picture)
        _prune(self.dead_letters, DEAD_LETTERS, ("page_id",), accounted, failed)
        if plan.letters:
            name = shards.part_name(letter.source for letter in plan.letters)
            shards.write(codec.dead_letters_table(plan.letters), self.dead_letters, name)
        there = rows(self.documents, DOCUMENTS, DOCUMENTS.names)
        names = zip(there["doc_id"].to_pylist(), there["source"].to_pylist(), strict=True)
        others = there.filter(pa.array([known.isdisjoint(both) for both in names], pa.bool_()))
        shards.write(pa.concat_tables([others, codec.documents_table(plan.documents)]), self.documents, _ONE_SHARD)


def rows(folder: str, schema: pa.Schema, columns: Sequence[str], filter: pc.Expression | None = None) -> pa.Table:  # noqa: A002
    """Columns of a data set, or no rows where there is none yet."""
    if not shards.shards(folder):
        return schema.empty_table().select(list(columns))
    return shards.read(folder, schema, columns, filter)


def _prune(
    folder: str, schema: pa.Schema, key: tuple[str, ...], known: set[str], wanted: set[tuple[str, ...]] | set[tuple[str]]
) -> set[str]:
    """Drop rows of known documents or sources whose `key` is not wanted, and repeats. Returns the page ids that stay."""
    seen: set[str] = set()
    for uri, table in shards.read_each(folder, schema, ["doc_id", "source", *key]):
        keep: list[bool] = []
        for row in table.to_pylist():
            is_wanted = tuple(row[name] for name in key) in wanted or not {row["doc_id"], row["source"]} & known
            keep.append(is_wanted and row["page_id"] not in seen)
            if keep[-1] and row["page_id"]:
                seen.add(row["page_id"])
        if not all(keep):
            _rewrite(uri, folder, schema, keep)
    return seen


def _rewrite(uri: str, folder: str, schema: pa.Schema, keep: Sequence[bool]) -> None:
    kept = shards.read(uri, schema).filter(pa.array(keep, pa.bool_()))
    written = (
        shards.write(kept, folder, shards.part_name([*kept["page_id"].to_pylist(), *kept["source"].to_pylist()])) if kept.num_rows else ""
    )
    if written != uri:
        shards.remove([uri])
