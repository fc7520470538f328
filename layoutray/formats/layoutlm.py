"""Export to Parquet in the convention of LayoutLM, which `datasets.load_dataset` opens with names and types.

| column | content |
| --- | --- |
| `id` | document and page |
| `tokens` | the words |
| `bboxes` | x0 y0 x1 y1 of each word, in thousandths of the page's width and height |
| `ner_tags` | the tag of each word, a ClassLabel; null for words and pages without a known tag |
| `image` | the picture, an Image; null without one |
| `doc_id`, `page`, `num_pages`, `source`, `width`, `height`, `lines`, `blocks` | what the convention does not have |

`layoutray.readers.datasets.layoutlm` reads it.
"""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from layoutray.document import Page
from layoutray.document.tags import is_known
from layoutray.formats.entity_json import page_origin

THOUSANDTHS = 1000
FILES = {"train": "train", "dev": "validation", "test": "test"}
"""Names of the splits in files, which `load_dataset` recognises."""
_ROWS = 100
"""Pages of a row group, which is in memory as a whole."""

_TEXT = {"dtype": "string", "_type": "Value"}
_NUMBER = {"dtype": "int64", "_type": "Value"}


def schema(tags: Sequence[str]) -> pa.Schema:
    """Columns, and their features in the metadata; `tags` are the names of tags in the order of their numbers."""
    boxes = {"feature": {"feature": _NUMBER, "length": 4, "_type": "List"}, "_type": "List"}
    labels = {"feature": {"names": [*tags], "_type": "ClassLabel"}, "_type": "List"}
    numbers = {"feature": _NUMBER, "_type": "List"}
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns: dict[str, tuple[pa.DataType, Mapping[str, object]]] = {
        "id": (pa.string(), _TEXT),
        "tokens": (pa.list_(pa.string()), {"feature": _TEXT, "_type": "List"}),
        "bboxes": (pa.list_(pa.list_(pa.int64(), 4)), boxes),
        "ner_tags": (pa.list_(pa.int64()), labels),
        "image": (picture, {"_type": "Image"}),
        **dict.fromkeys(("doc_id", "source"), (pa.string(), _TEXT)),
        **dict.fromkeys(("page", "num_pages", "width", "height"), (pa.int64(), _NUMBER)),
        **dict.fromkeys(("lines", "blocks"), (pa.list_(pa.int64()), numbers)),
    }
    features = {name: feature for name, (_, feature) in columns.items()}
    stated = json.dumps({"info": {"features": features}}, ensure_ascii=False)
    return pa.schema([(name, kind) for name, (kind, _) in columns.items()], metadata={"huggingface": stated})


def tag_names(pages: Iterable[Page]) -> list[str]:
    """All tags of the pages, `O` first."""
    tags = {word.tag for page in pages for word in page.words if word.tag is not None and is_known(word.tag)}
    return sorted(tags, key=lambda tag: (tag != "O", tag))


class SplitWriter:
    """Writes the pages of one split into a Parquet file."""

    def __init__(
        self, sink: io.IOBase, tags: Sequence[str], picture: Callable[[Page], tuple[str, bytes] | None]
    ) -> None:
        """`picture` gives the name and the bytes of a page's picture, or None."""
        self._schema = schema(tags)
        self._numbers = {tag: number for number, tag in enumerate(tags)}
        self._picture = picture
        self._writer = pq.ParquetWriter(sink, self._schema)
        self._rows: list[dict[str, object]] = []
        self._count = 0

    def write(self, page: Page, num_pages: int) -> None:
        self._count += 1
        sides = [(box.x0, box.y0, box.x1, box.y1) for box in (word.box for word in page.words)]
        picture = self._picture(page)
        tags = [self._numbers.get(word.tag or "") for word in page.words]
        row: dict[str, object] = {
            "id": f"{page.doc_id}-{page.number}",
            "tokens": [word.text for word in page.words],
            "bboxes": np.rint(np.array(sides).reshape(-1, 4) * THOUSANDTHS).astype(int).tolist(),
            "ner_tags": None if tags.count(None) == len(tags) else tags,
            "image": picture and {"path": picture[0], "bytes": picture[1]},
            "num_pages": num_pages,
        }
        self._rows.append(row | page_origin(page))
        if len(self._rows) == _ROWS:
            self._flush()

    def close(self) -> int:
        """Complete the file. Returns the number of its pages."""
        self._flush()
        self._writer.close()
        return self._count

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []
