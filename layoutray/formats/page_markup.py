"""Shared by the formats in XML: a page as blocks of lines of words, its boxes in whole pixels, its texts in XML."""

import re
from collections.abc import Callable, Iterable
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from layoutray.document import Box, Page, Word

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

Lines = list[list[Word]]


def pixel_box(words: Iterable[Word], page: Page) -> tuple[int, int, int, int]:
    """The smallest box around `words` (at least one): x0, y0, x1, y1 in whole pixels of their page."""
    x0, y0, x1, y1 = map(round, Box.around(word.box for word in words).to_pixels(page.width, page.height))
    return x0, y0, x1, y1


def blocks(page: Page) -> list[Lines]:
    """The words of a page in their order, in blocks and lines: consecutive words of equal block and line."""
    return [_runs(block, lambda word: word.line) for block in _runs(page.words, lambda word: word.block)]


def xml_text(text: str) -> str:
    """`text` with characters that XML forbids replaced."""
    return _FORBIDDEN.sub(_REPLACEMENT, text)


def file_name(uri: str) -> str:
    """The last part of a URI, to name a file in a result."""
    return xml_text(uri.rpartition("/")[2])


def to_bytes(root: Element, head: str) -> bytes:
    """An indented XML document in UTF-8. `head`: what stands before the element `root`."""
    ElementTree.indent(root)
    return f"{head}\n{ElementTree.tostring(root, encoding='unicode')}\n".encode()


def _runs(words: Iterable[Word], key: Callable[[Word], int]) -> Lines:
    return [list(run) for _, run in groupby(words, key)]
