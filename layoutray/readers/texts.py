"""Lay out plain text on pages.

The page is the unit of processing, and every word needs a box. A text is therefore laid out as on a typewriter, in
lines of 80 characters of equal width, 50 lines per page. So architectures with layout see lines and paragraphs, and
pages have bounded size. With all boxes at zero, every word would be a neighbour of every other in the word graph.
"""

import textwrap
from collections.abc import Iterator

from layoutray.document import Box, Page, Provenance, Word

COLUMNS, LINES = 80, 50
_CHARACTER = 8, 16
TYPESET = Provenance(words="annotation", reason=f"plain text laid out in {LINES} lines of {COLUMNS} characters")


def typeset_pages(text: str, doc_id: str, source: str = "", split: str = "") -> tuple[Page, ...]:
    """`text` (one paragraph per line) laid out on pages; empty when it has no words."""
    width, height = COLUMNS * _CHARACTER[0], LINES * _CHARACTER[1]
    return tuple(
        Page(
            doc_id=doc_id,
            number=number,
            width=width,
            height=height,
            words=tuple(words),
            source=source,
            image="",
            split=split,
            provenance=TYPESET,
        )
        for number, words in enumerate(_typeset(text), start=1)
    )


def _typeset(text: str) -> Iterator[list[Word]]:
    # A word longer than a line has a line of its own.
    wrap = textwrap.TextWrapper(COLUMNS, break_long_words=False, break_on_hyphens=False).wrap
    paragraphs = enumerate(" ".join(paragraph.split()) for paragraph in text.splitlines())
    lines = [(block, line) for block, paragraph in paragraphs for line in wrap(paragraph)]
    for at in range(0, len(lines), LINES):
        page = lines[at : at + LINES]
        blocks = {block: number for number, block in enumerate(dict.fromkeys(block for block, _ in page))}
        yield [word for row, (block, line) in enumerate(page) for word in _words(line, row, blocks[block])]


def _words(line: str, row: int, block: int) -> Iterator[Word]:
    """The words of a line with boxes as wide as their characters, clipped to the page."""
    column = 0
    for text in line.split(" "):
        sides = (
            min(column, COLUMNS) / COLUMNS,
            row / LINES,
            min(column + len(text), COLUMNS) / COLUMNS,
            (row + 1) / LINES,
        )
        yield Word(text=text, box=Box(*sides), line=row, block=block)
        column += len(text) + 1
