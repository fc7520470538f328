"""Shared by the readers of what `layoutray export dataset` writes: words in order, tags, and what identifies a page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from layoutray.document import Document, Word
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import PageSize, PageWords, malformed, member, page_size

ORIGIN = "layoutray"
"""Member of a page in JSON with its document, number, size, and the lines and blocks of its words."""


def of_words(origin: Mapping[str, Any], key: str, count: int, where: str) -> Sequence[int]:
    """`lines` or `blocks` of `count` words.

    Raises:
        DocumentError: (bad_annotation) unless there is a number for each word.
    """
    values = member(dict(origin), key, list, where)
    if len(values) != count or not all(type(value) is int for value in values):
        raise malformed(where, f"`{key}` has {len(values)} values, expected {count} integers, one for each word")
    return values


def add_words(
    page: PageWords,
    texts: Sequence[str],
    boxes: Iterable[Sequence[float]],
    tags: Sequence[str | None],
    origin: Mapping[str, Any],
    where: str,
) -> None:
    """Add words to `page`, with boxes in its unit and lines and blocks of `origin`.

    Raises:
        DocumentError: (bad_annotation, bad_box) if the lists differ in length or a box lies outside of the page.
    """
    lines, blocks = (of_words(origin, key, len(texts), where) for key in ("lines", "blocks"))
    try:
        rows = list(zip(texts, boxes, tags, lines, blocks, strict=True))
    except ValueError as error:
        raise malformed(where, f"has {len(texts)} words, but not as many boxes and tags") from error
    for number, (text, sides, tag, line, block) in enumerate(rows):
        box = page.place(sides, f"{where}, word {number}")
        page.words.append(Word(text, box, line=line, block=block, tag=tag))


def one_page(collected: PageWords, origin: dict[str, Any], item: DocumentRef, where: str) -> Truth:
    """The truth of a document with this page, as `origin` identifies it."""
    document = Document(member(origin, "doc_id", str, where), item.source, item.split, num_pages=1)
    return collected.truth(document, item, member(origin, "page", int, where), size_of(origin, where))


def size_of(origin: dict[str, Any], where: str) -> PageSize:
    """Width and height in pixels that `origin` states."""
    return page_size(origin, where)
