"""ALTO, versions 2 to 4: results of ABBYY, Tesseract, kraken, Transkribus and others, as XML.

Files: `*.xml` and `*.alto`. A `Page` is a page, a `String` a word (or several, in one box) with the confidence `WC`
(0 to 1), in the order of the file. The word at the end of a line keeps its hyphen (`HYP`) as the page shows it; the
whole word in `SUBS_CONTENT` is ignored. Boxes are relative to the page as it is: `ROTATION` only says how text runs
inside its box. The unit is the pixel, `mm10` or `inch1200`. The page number is `PHYSICAL_IMG_NR`. An empty attribute is
a missing one. The print space and the margins stand in for a page without a size.

ALTO needs no document type, so files with one are refused before it is read: entities cannot expand.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from layoutray.errors import DocumentError
from layoutray.ocr.settings import Recognition
from layoutray.readers.annotation import PageSize, malformed
from layoutray.readers.results.recognised import (
    ResultPage,
    ResultReader,
    ResultWord,
    attempted,
    attempted_page,
    name_and_version,
)

_PER_INCH = {"pixel": 0, "mm10": 254, "inch1200": 1200}
_PROCESSINGS = ("OCRProcessing", "Processing")
_GENERATION = "contentGeneration"
_NO_PROGRAM = "", ""
_NOT_SIGN = "\N{NOT SIGN}"
"""What ABBYY writes for a hyphen at the end of a line."""


class _WithoutDoctype(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ElementTree.ParseError(f"it declares the document type {name!r}, which ALTO does not need; remove it")


def pages_of(data: bytes, where: str) -> list[ResultPage]:
    """The pages of an ALTO file. Raises DocumentError (bad_annotation)."""
    root = _root(data, where)
    unit = next((_text(element).lower() for element in _below(root, "MeasurementUnit")), "pixel")
    if unit not in _PER_INCH:
        raise malformed(where, f"`MeasurementUnit` is {unit!r:.40}; allowed: {', '.join(_PER_INCH)}")
    pages, programs = list(_below(root, "Page")), _programs(root)
    if any(map(_references, pages)):
        chosen = [
            next((programs[name] for name in _references(page) if name in programs), _NO_PROGRAM) for page in pages
        ]
    else:
        chosen = [next(iter(programs.values()), _NO_PROGRAM)] * len(pages)
    return [
        attempted_page(_image_number(page), partial(_page, page, unit, program, f"{where}, page {position}"))
        for position, (page, program) in enumerate(zip(pages, chosen, strict=True), start=1)
    ]


def _page(page: Element, unit: str, program: tuple[str, str], where: str) -> ResultPage:
    width, height = (_number(page, name, where) for name in ("WIDTH", "HEIGHT"))
    stated = PageSize(width, height) if width is not None and height is not None else None
    size = stated or _extent_of_spaces(page, where)
    pixels = None
    if _PER_INCH[unit]:
        if size is None:
            raise malformed(where, f"lacks `WIDTH` or `HEIGHT`, without which boxes in the unit {unit} have no place")
        scale = Recognition().dpi / _PER_INCH[unit]
        pixels = PageSize(size.width * scale, size.height * scale)
    elif stated is None:
        size, pixels = None, size  # a picture beside the result is more exact than what is printed on it
    engine, version = program
    words = list(_words(page, where))
    number = _image_number(page)
    return ResultPage(words=words, number=number, size=size, pixels=pixels, engine=engine, version=version)


def _image_number(page: Element) -> int | None:
    stated = page.get("PHYSICAL_IMG_NR", "")
    return int(stated) if stated.isdecimal() else None


def _extent_of_spaces(page: Element, where: str) -> PageSize | None:
    """The size of a page that states none, from its print space and margins; None if they state none either."""
    places = [[_number(space, name, where) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")] for space in page]
    corners = [((x or 0) + w, (y or 0) + h) for x, y, w, h in places if w is not None and h is not None]
    return PageSize(max(x for x, _ in corners), max(y for _, y in corners)) if corners else None


def _references(page: Element) -> list[str]:
    """Ids of the processings of a page."""
    return (page.get("PROCESSING") or page.get("PROCESSINGREFS") or "").split()


def _root(data: bytes, where: str) -> Element:
    parser = ElementTree.XMLParser(target=_WithoutDoctype())
    try:
        parser.feed(data)
        root = parser.close()
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise malformed(where, f"cannot be read as XML: {error}") from error
    if _name(root) != "alto":
        raise malformed(where, f"the XML element is {_name(root)!r:.40}, expected alto")
    return root


def _words(page: Element, where: str) -> Iterator[ResultWord | DocumentError]:
    line = block = 0
    last: ResultWord | DocumentError | None = None
    for element in page.iter():
        name = _name(element)
        if name == "HYP" and isinstance(last, ResultWord):
            last = attempted(partial(_hyphenated, last, element, where))
        elif name in ("TextBlock", "TextLine", "String"):
            if last is not None:
                yield last
            block, line = block + (name == "TextBlock"), line + (name == "TextLine")
            last = attempted(partial(_word, element, line, block, where)) if name == "String" else None
    if last is not None:
        yield last


def _word(string: Element, line: int, block: int, where: str) -> ResultWord:
    text = string.get("CONTENT", "")
    place = f"{where} ({text!r:.40})"
    left, top, width, height = (_number(string, name, place) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT"))
    sides = None
    if left is not None and top is not None and width is not None and height is not None:
        sides = (left, top, left + width, top + height)
    return ResultWord(text=text, sides=sides, confidence=_number(string, "WC", place), line=line, block=block)


def _hyphenated(word: ResultWord, hyphen: Element, where: str) -> ResultWord:
    """The word with its hyphen, and its box extended to that of the hyphen."""
    sign = hyphen.get("CONTENT") or "-"
    text = word.text.removesuffix(sign) + ("-" if sign == _NOT_SIGN else sign)
    left, width = (_number(hyphen, name, where) for name in ("HPOS", "WIDTH"))
    if word.sides is None or left is None or width is None:
        return replace(word, text=text)
    x0, y0, x1, y1 = word.sides
    return replace(word, text=text, sides=(min(x0, left), y0, max(x1, left + width), y1))


def _programs(root: Element) -> dict[str, tuple[str, str]]:
    """Name and version of the programs that have generated content, by the id of the processing.

    The program of a processing is that of its OCR step, if it has several steps.
    """
    every = [element for kind in _PROCESSINGS for element in _below(root, kind)]
    generating = [
        element
        for element in every
        if any(_GENERATION in _text(category) for category in _below(element, "processingCategory"))
    ]
    programs: dict[str, tuple[str, str]] = {}
    for processing in generating or every:
        for step in (*_below(processing, "ocrProcessingStep"), processing):
            name = next((_text(element) for element in _below(step, "softwareName")), "")
            version = next((_text(element) for element in _below(step, "softwareVersion")), "")
            if name:
                programs[processing.get("ID", "")] = (name, version) if version else name_and_version(name)
                break
    return programs


def _below(element: Element, name: str) -> Iterator[Element]:
    return (part for part in element.iter() if _name(part) == name)


def _name(element: Element) -> str:
    """Name without namespace, which differs between the versions of ALTO."""
    return element.tag.rpartition("}")[2]


def _text(element: Element) -> str:
    return " ".join((element.text or "").split())


def _number(element: Element, name: str, where: str) -> float | None:
    """The value of an attribute; None when it is not there, or empty."""
    value = element.get(name, "").strip()
    if not value:
        return None
    try:
        return float(value)
    except ValueError as error:
        raise malformed(where, f"`{name}` of {_name(element)} is {value!r:.40}, expected a number") from error


READER = ResultReader("alto", (".xml", ".alto"), pages_of)
