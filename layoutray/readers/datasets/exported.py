"""Shared by the readers of what `layoutray export dataset` writes: words in order, tags, and what identifies a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from layoutray.document import Word
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import PageWords, malformed, member, page_size

ORIGIN = "layoutray"
"""Member of a page in JSON with its document, number, size, and the lines and blocks of its words."""


def add_words(
    page: PageWords,
    texts: Sequence[str],
    boxes: Sequence[Sequence[float]],
    tags: Sequence[str | None],
    origin: Mapping[str, Any],
    where: str,
) -> None:
    """Add words to `page`, with boxes in its unit and lines and blocks of `origin`.

    Raises:
        DocumentError: (bad_annotation, bad_box) if the lists differ in length or a box lies outside of the page.
    """
    of_words: list[list[int]] = []
    for key in ("lines", "blocks"):
        values = member(dict(origin), key, list, where)
        if len(values) != len(texts) or not all(type(value) is int for value in values):
            raise malformed(
                where, f"`{key}` has {len(values)} values, expected {len(texts)} integers, one for each word"
            )
        of_words.append(values)
    if not len(texts) == len(boxes) == len(tags):
        raise malformed(where, f"has {len(texts)} words, but not as many boxes and tags")
    for number, (text, sides, tag, line, block) in enumerate(zip(texts, boxes, tags, *of_words, strict=True)):
        box = page.place(sides, f"{where}, word {number}")
        page.words.append(Word(text=text, box=box, line=line, block=block, tag=tag))


def one_page(collected: PageWords, origin: dict[str, Any], reference: DocumentRef, where: str) -> Truth:
    """The truth of a document with this page, as `origin` identifies it."""
    document = reference.document(member(origin, "doc_id", str, where))
    return collected.truth(document, reference, member(origin, "page", int, where), page_size(origin, where))
