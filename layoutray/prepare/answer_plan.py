"""The plan of a bulk prediction: which rows of a data set are answered together, and the names of their shards.

A name is made from the identities of the rows. So a repeated run finds the shards of earlier runs, and rows that have
changed since have a shard of another name, which is missing.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from layoutray.prepare.whole_documents import page_shards
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.schema import DEAD_LETTERS, DOCUMENTS, PAGES

_PAGES_PER_UNIT = 64
"""Pages of a shard of answers, at most: as many as `ingest` puts into a shard by default."""
_DOCUMENTS_PER_UNIT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Rows of one shard of the data set, which become one shard of answers.

    Attributes:
        shard: URI of a shard of PAGES, or of DOCUMENTS for a model that reads whole documents.
        start: first row.
        name: name of the shard of answers, without ending.
        pages: URIs of the shards with the pages of the documents; empty if the rows are pages.
    """

    shard: str
    start: int
    rows: int
    name: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPlan:
    """What a job answers, and what of it earlier runs have not answered.

    Attributes:
        names: names of all shards, without ending.
        remaining: units without a shard of answers.
        rows: pages or documents of all units.
        skipped: those of them that earlier runs have answered.
        letters: dead letters.
    """

    names: set[str]
    remaining: list[Unit]
    rows: int
    skipped: int
    letters: int


def make_plan(
    units: Iterable[Unit], failures: Iterable[tuple[str, Sequence[DeadLetter]]], written: Container[str]
) -> AnswerPlan:
    """The plan for these units and `failures`; `written` has the names of the shards of earlier runs."""
    every = list(units)
    num_letters = {name: len(letters) for name, letters in failures}
    remaining = [unit for unit in every if unit.name not in written]
    rows = sum(unit.rows for unit in every)
    return AnswerPlan(
        names={unit.name for unit in every} | num_letters.keys(),
        remaining=remaining,
        rows=rows,
        skipped=rows - sum(unit.rows for unit in remaining),
        letters=sum(num_letters.values()),
    )


def page_units(data_set: DataSet) -> Iterator[Unit]:
    """The pages of a data set in units. Raises SchemaError if the folder of its pages has other tables."""
    for uri, table in shards.read_each(data_set.pages, PAGES, ["page_id"]):
        for start in range(0, table.num_rows, _PAGES_PER_UNIT):
            ids = table["page_id"].slice(start, _PAGES_PER_UNIT).to_pylist()
            yield Unit(shard=uri, start=start, rows=len(ids), name=_name(ids))


def document_units(data_set: DataSet) -> Iterator[Unit]:
    """The documents of a data set in units. Raises SchemaError if it has no documents."""
    located = page_shards(data_set)
    for uri in shards.existing(data_set.documents):
        for start, table in shards.scan_shard(uri, DOCUMENTS, ["doc_id"], _DOCUMENTS_PER_UNIT):
            ids = table["doc_id"].to_pylist()
            pages = [located.get(doc_id, {}) for doc_id in ids]
            page_ids = [page_id for of_document in pages for in_shard in of_document.values() for page_id in in_shard]
            uris = sorted({shard for of_document in pages for shard in of_document})
            yield Unit(shard=uri, start=start, rows=len(ids), name=_name([*ids, *page_ids]), pages=tuple(uris))


def failures(data_set: DataSet, *, of_documents: bool) -> Iterator[tuple[str, list[DeadLetter]]]:
    """The dead letters of each shard, and the name of the shard of their answers, without ending.

    Args:
        of_documents: whether documents are answered as a whole, so that dead letters of single pages do not count.
    """
    for _, table in shards.read_each(data_set.dead_letters, DEAD_LETTERS, DEAD_LETTERS.names):
        letters = [letter for letter in codec.dead_letters_of(table) if not of_documents or letter.page is None]
        if letters:
            yield _name(f"dead {letter.source} {letter.page} {letter.message}" for letter in letters), letters


def _name(ids: Iterable[str]) -> str:
    return shards.stem(shards.part_name(ids))
