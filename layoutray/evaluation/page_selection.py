"""Which pages and documents of ingested data sets are measured."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from layoutray.document import Document, Page
from layoutray.errors import InputError
from layoutray.prepare.whole_documents import read_documents
from layoutray.store import codec
from layoutray.store.data_set import DataSet


@dataclass(frozen=True)
class PageSelection:
    """One split of ingested data sets, without the excluded documents.

    Attributes:
        folders: of data sets that `layoutray ingest` has written.
        split: `train`, `dev` or `test`.
        excluded: ids of documents that are left out.
        excluded_name: names `excluded` in reports; empty when no documents are left out by name.
    """

    folders: tuple[str, ...]
    split: str
    excluded: frozenset[str] = frozenset()
    excluded_name: str = ""

    @property
    def name(self) -> str:
        """What reports and MLflow call these pages, for example `test` or `test_without_known`."""
        return f"{self.split}_without_{self.excluded_name}" if self.excluded_name else self.split

    @cached_property
    def rows(self) -> pc.Expression:
        """The condition that selects rows of PAGES and of DOCUMENTS."""
        rows = pc.field("split") == self.split
        if not self.excluded_name:
            return rows
        return rows & ~pc.field("doc_id").isin(pa.array(sorted(self.excluded), pa.string()))

    @property
    def data_sets(self) -> tuple[DataSet, ...]:
        return tuple(map(DataSet, self.folders))

    def tables(self, columns: Sequence[str] | None = None, also: pc.Expression | None = None) -> Iterator[pa.Table]:
        """The selected rows of PAGES, or some of their columns, which also meet `also`, a batch at a time."""
        rows = self.rows if also is None else self.rows & also
        for data_set in self.data_sets:
            yield from data_set.scan_pages(columns, rows)

    def pages(self, also: pc.Expression | None = None) -> Iterator[Page]:
        """The pages of the selected rows, without form fields: a model is measured. Arguments as `tables`."""
        for table in self.tables(also=also):
            yield from codec.pages_of(table.drop_columns("form_fields"))

    def pages_of(self, doc_ids: Container[str]) -> Iterator[list[Page]]:
        """The selected pages of these documents, a batch at a time."""
        for table in self.tables():
            yield [page for page in codec.pages_of(table.drop_columns("form_fields")) if page.doc_id in doc_ids]

    @property
    def num_pages(self) -> int:
        return sum(table.num_rows for table in self.tables(["doc_id"]))

    def documents(self) -> Iterator[Document]:
        """The selected rows of DOCUMENTS. Raises SchemaError when a data set has none."""
        return read_documents(self.data_sets, self.rows)

    def require_pages(self, count: int) -> None:
        """Raises InputError when `count`, the number of selected pages, is 0; the message counts the pages by split."""
        if count:
            return
        splits = [table["split"].to_pylist() for data_set in self.data_sets for table in data_set.scan_pages(["split"])]
        counts = Counter(chain.from_iterable(splits))
        available = ", ".join(f"{number} in {split}" for split, number in counts.items()) or "none"
        raise InputError(
            f"no page of {', '.join(self.folders)} is in split {self.split}, or all of its documents are excluded; "
            f"pages available: {available}; "
            "choose another split with --split, or ingest with a dev_share and a test_share"
        )
