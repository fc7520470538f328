"""PAGES of random words, of any number."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from layoutray.document import Box, Page, Provenance, Word
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES

_PAGES_PER_SHARD = 64
"""As many as `ingest` puts into a shard by default."""


def write_pages(folder: str, count: int, words: int) -> None:
    """Write a data set of `count` documents of one page."""
    table = random_pages(_PAGES_PER_SHARD, words)
    for names in _names(count):
        part = renamed(table, {"page_id": names, "doc_id": names, "source": [f"{name}.png" for name in names]})
        shards.write(part, DataSet(folder).pages, shards.part_name(names))
    DataSet(folder).write_manifest(b"{}")


def renamed(pages: pa.Table, values: Mapping[str, Sequence[str]]) -> pa.Table:
    """The first rows of PAGES, with new values of these columns."""
    table = pages.slice(0, len(next(iter(values.values()))))
    for name, column in values.items():
        table = table.set_column(PAGES.get_field_index(name), PAGES.field(name), pa.array(column, pa.string()))
    return table


def random_pages(count: int, words: int) -> pa.Table:
    """Pages of random words from a vocabulary of 20,000 at random positions; they compress like real pages."""
    random = np.random.default_rng(7)
    pages: list[Page] = []
    for number in range(count):
        corners = random.uniform(0, 0.9, (words, 2)).tolist()
        texts = random.integers(0, 20_000, words).tolist()
        drawn = tuple(
            Word(
                text=f"word{text}",
                box=Box(x, y, x + 0.05, y + 0.02),
                confidence=float(random.uniform(0, 1)),
                line=line // 8,
            )
            for line, (text, (x, y)) in enumerate(zip(texts, corners, strict=True))
        )
        provenance = Provenance(words="ocr", reason="random", engine="tesseract", version="5", settings="x")
        pages.append(
            Page(
                doc_id=str(number),
                number=1,
                width=1700,
                height=2200,
                words=drawn,
                source="",
                image="",
                split="train",
                provenance=provenance,
            )
        )
    return codec.pages_table(pages, [str(number) for number in range(count)])


def _names(count: int) -> Iterator[list[str]]:
    """Names of documents, as many at a time as a shard has. They are spread like hashes."""
    for start in range(0, count, _PAGES_PER_SHARD):
        yield [
            f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}"
            for number in range(start, min(start + _PAGES_PER_SHARD, count))
        ]
