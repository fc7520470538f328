"""Which documents a data set comes from, and where its words come from."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pyarrow.compute as pc

from layoutray.document import Provenance
from layoutray.document.word_source import WordSource
from layoutray.store import codec, sources
from layoutray.store.data_set import DataSet

_COLUMNS = ["words_from", "engine"]


def names_of(folders: Sequence[str]) -> tuple[str, ...]:
    """For each data set the name of the folder of its documents, or its own name if it has no manifest; each once."""
    manifests = {folder: DataSet(folder).manifest for folder in folders}
    documents = (
        json.loads(sources.read_bytes(manifest))["source"] if sources.exists(manifest) else folder
        for folder, manifest in manifests.items()
    )
    return tuple(dict.fromkeys(map(sources.name, documents)))


def word_sources(folders: Sequence[str], rows: pc.Expression | None = None) -> str:
    """The word sources of the pages `rows`, most pages first: OCR engines by name, and others such as `annotation`."""
    counts = Counter[str]()
    for table in chain.from_iterable(DataSet(folder).scan_pages(_COLUMNS, rows) for folder in folders):
        for row in table.group_by(_COLUMNS).aggregate([([], "count_all")]).to_pylist():
            is_read = row["words_from"] == "ocr" and row["engine"]
            counts[row["engine"] if is_read else row["words_from"]] += row["count_all"]
    return " and ".join(source for source, _ in counts.most_common())


def word_source_counts(folders: Sequence[str], rows: pc.Expression | None = None) -> Counter[WordSource]:
    """The number of pages of each source of words, of the pages `rows`."""
    counts = Counter[WordSource]()
    columns = codec.PROVENANCE
    kept = [column for name, column in columns.items() if name != "reason"]
    for table in chain.from_iterable(DataSet(folder).scan_pages(kept, rows) for folder in folders):
        for row in table.group_by(kept).aggregate([([], "count_all")]).to_pylist():
            origin = Provenance(**{name: row.get(column, "") for name, column in columns.items()})
            counts[WordSource.of(origin)] += row["count_all"]
    return counts
