"""hOCR: results of Tesseract, OCRmyPDF, kraken, ABBYY and others, as HTML with OCR properties (hOCR 1.2).

Files: `*.hocr` and `*.html`. An `ocr_page` is a page, an `ocrx_word` a word with the confidence `x_wconf` (0 to 100).
A line without words is divided at its spaces. Elements of characters (`ocrx_cinfo`) that have a box are the characters
of their word; those without are readings that the engine has considered, and are ignored. Boxes are relative to the
picture as it is: `textangle` only says how text runs inside its box. The page number is `ppageno` + 1. Readings in
`<del>` are ignored.

Most files are not well-formed XML, and the standard library's HTML parser takes quadratic time for crafted files. So
tags are found by an expression that looks at each character once. Files that declare entities are refused.
"""

import codecs
import html
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from layoutray.errors import DocumentError
from layoutray.readers.annotation import PageSize, malformed
from layoutray.readers.results.recognised import (
    ResultPage,
    ResultReader,
    ResultWord,
    attempted,
    name_and_version,
)

_AREAS = frozenset({"ocr_carea", "ocr_column", "ocrx_block"})
_LINES = frozenset({"ocr_line", "ocrx_line", "ocr_header", "ocr_footer", "ocr_caption", "ocr_textfloat", "ocr_pageno"})
_WORDS = frozenset({"ocrx_word", "ocr_word"})
_CHARACTERS = frozenset({"ocrx_cinfo", "ocr_cinfo", "ocr_glyph", "ocr_symbol"})
_PLACES = frozenset({"x_bboxes", "bbox"})
_PARAGRAPH, _PAGE = "ocr_par", "ocr_page"
_KINDS = _AREAS | _LINES | _WORDS | _CHARACTERS | {_PARAGRAPH, _PAGE}
_WITHOUT_END = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta"})
_DISCARDED = "del"
_UNKNOWN = "unknown"
_MAX_DEPTH = 200

_MARKUP = re.compile(r"(<!--.*?(?:-->|\Z)|<[^<>]*>)", re.DOTALL)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""(?<=[\s"'])([^\s=/"'<>]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'>]++))""")
_QUOTED = re.compile(r'"[^"]*"')
_ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)
_ENCODING = re.compile(rb"""(?:encoding|charset)\s*=\s*["']?([A-Za-z0-9._-]+)""")
_HEAD = 2048  # bytes in which the encoding is declared
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(slots=True, kw_only=True)
class _Element:
    """An open element.

    Attributes:
        kind: its hOCR class; empty for others.
        serial: its position among all elements.
        texts: of a word or line, each with whether it is of an element of characters.
        words_before: number of words on the page before it.
    """

    tag: str
    kind: str
    serial: int
    properties: dict[str, list[str]]
    texts: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    words_before: int = 0

    @property
    def text(self) -> str:
        """The text of a word or line. White space between elements of characters is the indentation of the file."""
        characters = "".join(text for text, is_character in self.texts if is_character)
        whole = "".join(text for text, is_character in self.texts if is_character or text.strip())
        if not characters:
            return " ".join("".join(text for text, _ in self.texts).split())
        is_repeated = "".join(whole.split()) == 2 * "".join(characters.split())
        return ("" if self.kind in _WORDS else " ").join((characters if is_repeated else whole).split())


class _Result:
    """Collects the pages of a result from its tags and texts."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._open: list[_Element] = []
        self._pages: list[tuple[_Element, list[ResultWord | DocumentError]]] = []
        self._serials = itertools.count()
        self._system = ""

    def pages(self) -> list[ResultPage]:
        self._close(0)
        return [self._page(page, words) for page, words in self._pages]

    def _page(self, page: _Element, words: list[ResultWord | DocumentError]) -> ResultPage:
        stated = page.properties.get("ppageno", [])
        number = int(stated[0]) + 1 if len(stated) == 1 and stated[0].isdecimal() else None
        engine, version = name_and_version(self._system)
        sides = attempted(partial(self._numbers, page, "bbox", 4))
        if isinstance(sides, DocumentError):
            return ResultPage(words=(), number=number, failure=sides)
        size = PageSize(sides[2], sides[3]) if sides else None
        return ResultPage(words=words, number=number, size=size, engine=engine, version=version)

    def tag(self, markup: str) -> None:
        match = _TAG.match(markup)
        if match is None:
            return
        name = match[2].lower()
        if match[1]:
            depth = next((at for at in reversed(range(len(self._open))) if self._open[at].tag == name), None)
            if depth is not None:
                self._close(depth)
        elif name == "meta":
            attributes = _attributes(markup)
            if attributes.get("name", "").lower() == "ocr-system" and attributes.get("content") != _UNKNOWN:
                self._system = attributes.get("content", "")
        elif name == "br":
            self.text(" ")
        elif name not in _WITHOUT_END:
            self._start(name, markup)
            if markup.endswith("/>"):
                self._close(len(self._open) - 1)

    def text(self, text: str) -> None:
        """Add text to the innermost word or, outside words, line."""
        owner = self._innermost(_WORDS) or self._innermost(_LINES)
        if owner is None or any(element.tag == _DISCARDED for element in self._open):
            return
        characters = [element for element in self._open if element.kind in _CHARACTERS]
        if all(element.properties.keys() & _PLACES for element in characters):
            owner.texts.append((text, bool(characters)))

    def _start(self, name: str, markup: str) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise malformed(self._where, f"elements are nested more than {_MAX_DEPTH} deep")
        attributes = _attributes(markup)
        kind = next((kind for kind in attributes.get("class", "").split() if kind in _KINDS), "")
        element = _Element(
            tag=name,
            kind=kind,
            serial=next(self._serials),
            properties=_properties(attributes.get("title", "")) if kind else {},
        )
        self._open.append(element)
        if kind == _PAGE:
            self._pages.append((element, []))
        element.words_before = len(self._words())

    def _close(self, depth: int) -> None:
        """Close all open elements but the outermost `depth`."""
        while len(self._open) > depth:
            element = self._open[-1]
            is_line_of_text = element.kind in _LINES and len(self._words()) == element.words_before
            if element.kind in _WORDS or (is_line_of_text and element.text):
                if not self._pages:
                    raise malformed(self._where, "has a word or line outside an element of class ocr_page")
                self._words().append(attempted(partial(self._word, element)))
            self._open.pop()

    def _word(self, element: _Element) -> ResultWord:
        """The word or line that `element` holds, in the open elements around it."""
        area = self._innermost(_AREAS) or self._innermost({_PARAGRAPH}) or self._innermost({_PAGE})
        line = self._innermost(_LINES) or area
        confidence = self._numbers(element, "x_wconf", 1)
        return ResultWord(
            text=element.text,
            sides=self._numbers(element, "bbox", 4),
            confidence=confidence[0] / 100 if confidence else None,
            line=line.serial if line else -1,
            block=area.serial if area else -1,
        )

    def _words(self) -> list[ResultWord | DocumentError]:
        return self._pages[-1][1] if self._pages else []

    def _innermost(self, kinds: Iterable[str]) -> _Element | None:
        return next((element for element in reversed(self._open) if element.kind in kinds), None)

    def _numbers(self, element: _Element, name: str, count: int) -> list[float] | None:
        """The values of a property; None when the element lacks it. Raises DocumentError."""
        values = element.properties.get(name)
        if values is None:
            return None
        try:
            numbers = [float(value) for value in values]
        except ValueError:
            numbers = []
        if len(numbers) != count:
            raise malformed(
                self._where, f"`{name} {' '.join(values)!s:.80}` of an {element.kind} is not {count} numbers"
            )
        return numbers


def pages_of(data: bytes, where: str) -> list[ResultPage]:
    """The pages of an hOCR file. Raises DocumentError (bad_annotation)."""
    text = _decoded(data, where)
    if _ENTITY.search(text):
        raise malformed(where, "declares entities; hOCR needs none, so the file is not read")
    result = _Result(where)
    parts = [*_MARKUP.split(text), ""]
    for markup, content in zip(parts[1::2], parts[::2], strict=True):  # each tag or comment with the text before it
        if content:
            result.text(html.unescape(content))
        result.tag(markup)
    pages = result.pages()
    if not pages:
        raise malformed(where, "has no element of class ocr_page; expected hOCR")
    return pages


def _decoded(data: bytes, where: str) -> str:
    declared = _ENCODING.search(data[:_HEAD])
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), None)
    encoding = marked or (declared[1].decode("ascii") if declared else "utf-8")
    try:
        return data.decode(encoding)
    except (LookupError, ValueError) as error:
        raise malformed(where, f"is not text in its encoding {encoding}: {error}; save it as UTF-8") from error


def _attributes(markup: str) -> dict[str, str]:
    return {
        name.lower(): html.unescape(double or single or bare)
        for name, double, single, bare in _ATTRIBUTE.findall(markup)
    }


def _properties(title: str) -> dict[str, list[str]]:
    """The properties in a title, without quoted values: file names, which may contain semicolons."""
    properties = (part.split() for part in _QUOTED.sub("", title).split(";"))
    return {name: values for name, *values in filter(None, properties)}


READER = ResultReader("hocr", (".hocr", ".html"), pages_of)
