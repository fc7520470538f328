"""What the readers of plain texts share: texts have no pages, and are set on some.

A page is the unit of work, and a word has a place on one. So a text is set as a typewriter sets it, in lines of 80 characters of equal
width, 50 lines a page: architectures that know layout see where lines and paragraphs begin, and pages are of a bounded size. All places
zero would say less, and make every word a neighbour of every other.
"""

import textwrap
from collections.abc import Iterable, Iterator

from layoutray.document import SUMMARY, Box, Document, Field, Page, Provenance, Word
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import malformed

COLUMNS, LINES = 80, 50
_CHARACTER = 8, 16
TYPESET = Provenance(words="annotation", reason=f"a text without pages, set in {LINES} lines of {COLUMNS} characters")


def text_truth(item: DocumentRef, doc_id: str, text: str, summaries: Iterable[str]) -> Truth:
    """A text and its summaries as a document.

    Args:
        text: a paragraph in each line; lines without words are left out.
        summaries: those without words are dropped.

    Raises:
        DocumentError: (bad_annotation) for a text without words.
    """
    pages = typeset_pages(text, doc_id, item.source, item.split)
    if not pages:
        raise malformed(item.source, "the text has no words")
    given = [summary.strip() for summary in summaries]
    fields = tuple(Field(SUMMARY, summary) for summary in given if summary)
    document = Document(doc_id, item.source, item.split, len(pages), fields)
    return Truth(document, pages, dropped=len(given) - len(fields))


def typeset_pages(text: str, doc_id: str, source: str = "", split: str = "") -> tuple[Page, ...]:
    """The pages that `text` takes, a paragraph in each of its lines; none without words."""
    width, height = COLUMNS * _CHARACTER[0], LINES * _CHARACTER[1]
    return tuple(
        Page(doc_id, number, width, height, tuple(words), source, "", split, TYPESET)
        for number, words in enumerate(_typeset(text), start=1)
    )


def _typeset(text: str) -> Iterator[list[Word]]:
    """The words of each page."""
    lines = [(block, line) for block, paragraph in enumerate(text.splitlines()) for line in _lines(paragraph)]
    for at in range(0, len(lines), LINES):
        page = lines[at : at + LINES]
        blocks = {block: number for number, block in enumerate(dict.fromkeys(block for block, _ in page))}
        yield [word for row, (block, line) in enumerate(page) for word in _words(line, row, blocks[block])]


def _lines(paragraph: str) -> list[str]:
    """Lines of a paragraph; a word that is longer than a line has one for itself."""
    return textwrap.wrap(" ".join(paragraph.split()), COLUMNS, break_long_words=False, break_on_hyphens=False)


def _words(line: str, row: int, block: int) -> Iterator[Word]:
    """The words of a line, each as wide as its characters; one that leaves the page is cut to it."""
    column = 0
    for text in line.split(" "):
        sides = (
            min(column, COLUMNS) / COLUMNS,
            row / LINES,
            min(column + len(text), COLUMNS) / COLUMNS,
            (row + 1) / LINES,
        )
        yield Word(text, Box(*sides), line=row, block=block)
        column += len(text) + 1
