"""SROIE (ICDAR 2019): scanned receipts with text lines and four fields, in either of the two common downloads.

* `{train,test}/{img,box,entities}`: ids of the competition, `.txt` files.
* `data/{img,box,key}`: the cleaned training set; rows in `.csv`, fields in `.json`. It has the receipts of the other
  download under other ids, so it is ignored when both are below one root.

A row is a text line, not a word: eight integers (a quad in pixels, clockwise from the top left) and the transcript,
which may contain commas and quotes. Lines are split at spaces, and the box is divided in proportion to the
characters; `line` is the row. Fields have no positions, so words have no tags. Without a picture, the page size is
the extent of the boxes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from layoutray.document import Field, Word
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    IMAGE_SUFFIXES,
    PageSize,
    PageWords,
    bounds,
    by_kind,
    extent,
    file_name,
    folder_of,
    json_object,
    malformed,
    require_any,
    text_of,
)
from layoutray.readers.picture_sizes import picture_size
from layoutray.readers.segments import split_words
from layoutray.store import sources

_SUFFIXES = {
    "box": frozenset({".txt", ".csv"}),
    "entities": frozenset({".txt", ".json"}),
    "key": frozenset({".txt", ".json"}),
    "img": IMAGE_SUFFIXES,
}
_OF_ODD_FILES = "gb18030"
"""Encoding of the few box files that are not UTF-8: a full-width comma was typed on a Chinese computer."""
_EXPECTED = "{train,test}/{box,entities,img}/* or data/{box,key,img}/* (.txt, .csv, .json, pictures)"


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a box file. `reversed_corners`: whether the corners are anticlockwise."""

    sides: tuple[float, float, float, float]
    reversed_corners: bool
    text: str
    where: str


class _Sroie:
    name = "sroie"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        # Ignore folders with pictures only: they belong to other data sets.
        parts = {folder: kinds for folder, kinds in by_kind(root, _SUFFIXES).items() if kinds.keys() - {"img"}}
        official = [folder for folder in parts if file_name(folder).name in ("train", "test")]
        references = (
            _reference(folder, key, parts[folder])
            for folder in sorted(official or parts)
            for key in sorted({key for files in parts[folder].values() for key in files})
        )
        return require_any(references, root, _EXPECTED)

    def read(self, reference: DocumentRef) -> Truth:
        data = sources.read_bytes(reference.source)
        size = picture_size(data, reference.source) if reference.image else None
        box_file, field_file = _annotations(reference.annotation)
        document = reference.document(sources.content_id(data), fields=_fields(field_file) if field_file else ())
        if not box_file:
            return Truth(document=document, pages=())
        return _collect(list(_rows(box_file)), size).truth(document, reference)


def _reference(folder: str, key: str, kinds: dict[str, dict[str, str]]) -> DocumentRef:
    image = kinds.get("img", {}).get(key, "")
    box, fields = kinds.get("box", {}).get(key, ""), kinds.get("entities", kinds.get("key", {})).get(key, "")
    name = file_name(folder).name
    split = name if name in ("train", "test") else "train"
    return DocumentRef(key=key, source=image or box or fields, image=image, annotation=box or fields, split=split)


def _annotations(annotation: str) -> tuple[str, str]:
    """Box file and field file of a receipt, from sibling folders; empty when there is none."""
    if not annotation:
        return "", ""
    kind, stem = file_name(folder_of(annotation)).name, file_name(annotation).stem
    if kind != "box":
        return "", annotation
    part = folder_of(folder_of(annotation))
    candidates = (
        sources.join(part, kind, stem + suffix) for kind in ("entities", "key") for suffix in sorted(_SUFFIXES[kind])
    )
    return annotation, next((uri for uri in candidates if sources.exists(uri)), "")


def _fields(uri: str) -> tuple[Field, ...]:
    """Fields in the file's order, without empty ones."""
    values = json_object(sources.read_bytes(uri), uri)
    for name, value in values.items():
        if not isinstance(value, str):
            raise malformed(uri, f"`{name}` is {value!r:.80}, expected text")
    return tuple(Field(name, value) for name, value in values.items() if value.strip())


def _rows(uri: str) -> Iterator[_Row]:
    """Rows of a box file, without blank lines."""
    # Not splitlines(), which also splits at separators that transcripts may contain.
    for number, ended in enumerate(text_of(sources.read_bytes(uri), uri, _OF_ODD_FILES).split("\n"), start=1):
        line, where = ended.rstrip("\r"), f"{uri}, line {number}"
        if not line.strip():
            continue
        parts = line.split(",", 8)
        if len(parts) != 9:
            raise malformed(where, f"{line!r:.80} is not `x1,y1,x2,y2,x3,y3,x4,y4,transcript`")
        try:
            quad = [float(side) for side in parts[:8]]
        except ValueError as error:
            raise malformed(where, f"the first eight values of {line!r:.80} must be numbers") from error
        sides, xs, ys = bounds(quad, where), quad[::2], quad[1::2]
        # Anticlockwise corners invert a side (shoelace formula, y pointing down).
        anticlockwise = sum(xs[i] * ys[(i + 1) % 4] - xs[(i + 1) % 4] * ys[i] for i in range(4)) < 0
        yield _Row(sides, anticlockwise, parts[8], where)


def _collect(rows: list[_Row], size: PageSize | None) -> PageWords:
    page = PageWords(size or extent(row.sides for row in rows))
    seen: set[tuple[tuple[float, ...], str]] = set()
    line = 0
    for row in rows:
        x0, y0, x1, y1 = row.sides
        # Drop rows without area, and exact repeats.
        if not row.text.strip() or x0 == x1 or y0 == y1 or (row.sides, row.text) in seen:
            page.dropped += 1
            continue
        seen.add((row.sides, row.text))
        before = page.repairs
        box = page.place(row.sides, f"{row.where} ({row.text!r:.40})")
        page.repairs = before + (page.repairs > before or row.reversed_corners)
        page.words += [Word(text=word, box=place, line=line) for word, place in split_words(row.text, box)]
        line += 1
    return page


READER = _Sroie()
