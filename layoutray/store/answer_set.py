"""The folder of bulk answers. No other module knows the names of its parts."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from layoutray.document.answers import DocumentFields
from layoutray.store import codec, job, shards, sources

_MANIFEST = "answers.json"
PACKETS = "packets.jsonl"
_TABLES, _LINES, _FIELDS = "parquet", "jsonl", "fields"


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """The answers that `predict` writes, in a local folder or an object store.

    | part | content |
    | --- | --- |
    | `job.json` | the job: model, data set and options; written first |
    | `parquet/` | ANSWERS or TEXTS shards |
    | `jsonl/` | the same as lines of JSON, under the same names |
    | `fields/` | FIELDS shards; absent if the model finds no fields |
    | `answers.json` | counts; written last |
    | `packets.jsonl` | the documents of each packet; written later, for a model of pages |
    """

    folder: str
    tables = sources.Part(_TABLES)
    lines = sources.Part(_LINES)
    fields = sources.Part(_FIELDS)
    packets = sources.Part(PACKETS)

    def claim(self, values: Mapping[str, Any]) -> None:
        """Make the folder that of the job `values`. Raises InputError if another job owns it; see `store.job`."""
        job.claim(self.folder, values, (_TABLES, _LINES, _FIELDS))

    def written(self) -> set[str]:
        """Names of the complete shards, without ending."""
        return set(map(shards.stem, shards.shards(self.tables)))

    def write(self, table: pa.Table, lines: Sequence[Mapping[str, Any]], name: str) -> None:
        """Write a shard of answers, as lines of JSON and as a table. The table is written last: it completes the shard.

        Args:
            name: name without ending.
        """
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        shards.write_bytes(text.encode(), self.lines, f"{name}.jsonl")
        shards.write(table, self.tables, f"{name}.parquet")

    def write_fields(self, documents: Sequence[DocumentFields], name: str) -> int:
        """Write a shard of the documents' fields, unless they have no values. Returns the number of values."""
        table = codec.fields_table(documents)
        if table.num_rows:
            shards.write(table, self.fields, f"{name}.parquet")
        return table.num_rows

    def clear_half_written(self) -> None:
        for part in (self.tables, self.lines, self.fields):
            shards.remove_half_written(part)

    def keep_only(self, names: Collection[str]) -> int:
        """Delete all shards except `names`: incomplete ones, and those of rows that are no longer in the data set."""
        return sum(shards.keep_only(part, names) for part in (self.tables, self.lines, self.fields))

    def manifest(self) -> dict[str, Any] | None:
        """The content of `answers.json`; None if the answers are not complete."""
        uri = sources.join(self.folder, _MANIFEST)
        return json.loads(sources.read_bytes(uri)) if sources.exists(uri) else None

    def write_manifest(self, values: Mapping[str, Any]) -> None:
        shards.write_bytes(json.dumps(values, indent=2, ensure_ascii=False).encode(), self.folder, _MANIFEST)

    def remove_manifest(self) -> None:
        """Delete `answers.json`: the answers are not complete, or no longer those of the data set."""
        shards.remove([sources.join(self.folder, _MANIFEST)])


def pages_folder(folder: str) -> str:
    """The data set in `folder`: `predict` keeps the pages that it has read from files in `ingested`."""
    inside = sources.join(folder, "ingested")
    return inside if sources.exists(inside) else folder
