"""Shared by readers of recognition results: files in which another OCR engine has written the words of a document.

The data set is a folder of results, one for each document. The result NAME.SUFFIX, or NAME.png.SUFFIX, belongs to the
PDF file or picture NAME.pdf, NAME.png, NAME.jpg or NAME.tif beside it. A result without one is a document of its own:
its bytes are the document's bytes. NAME.fields.json, if it is there, has the true fields of the document: an object of
texts and lists of texts by field name.

A word with a wrong value (a place off the page, a confidence above 1) is dropped and counted; a page that violates the
format is a failure of its own. Only a result that cannot be read at all costs the document.

A format is one function from bytes to pages. A reader of it is

    READER = ResultReader("name", (".suffix",), pages_of)
"""

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from unicodedata import normalize

from layoutray.document import Field, Page, Provenance, Word
from layoutray.errors import DocumentError
from layoutray.ocr import pdf
from layoutray.ocr.settings import Recognition
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import (
    PageSize,
    PageWords,
    extent,
    file_name,
    json_object,
    malformed,
    named,
    require_any,
    scans_by_stem,
    truth_of_pages,
    without_suffix,
)
from layoutray.readers.picture_sizes import PictureFrame, picture_frames
from layoutray.readers.segments import split_words
from layoutray.store import sources

FIELDS_SUFFIX = ".fields.json"
_SOFT_HYPHEN = "\N{SOFT HYPHEN}"
_CLEARLY_WIDE = 3
"""Characters of a word that is wider than high wherever text runs across."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultWord:
    """A word of a result, or several words of one line in one box.

    Attributes:
        text: several words share the width of the box in proportion to their characters. A soft hyphen at the end
            becomes the hyphen that the page shows.
        sides: x0, y0, x1, y1 in the unit of the page, origin top left; None drops the word and counts it as dropped.
        confidence: 0..1; None when the result has none.
        line, block: equal for words of one line and block of the page, e.g. the numbers or ids of the result. A page
            has them numbered from 0 in the order of their first words.
    """

    text: str
    sides: Sequence[float] | None
    confidence: float | None = None
    line: Hashable = 0
    block: Hashable = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """A page of a result.

    Attributes:
        words: in reading order; in place of a word that violates the format, its error.
        number: number of the page in its document, from 1; None: its position in the result. Numbers that repeat, or
            that the PDF file or picture beside the result does not have, give way to the positions.
        size: width and height of the page in the unit of the boxes; None: unknown, and the unit is the pixel.
        pixels: size in pixels where there is no PDF file or picture to take it from; None: the same as `size`.
        engine, version: the program that recognised the page; empty when the result names none.
        failure: why the page cannot be read; None if it can.
    """

    words: Sequence[ResultWord | DocumentError]
    number: int | None = None
    size: PageSize | None = None
    pixels: PageSize | None = None
    engine: str = ""
    version: str = ""
    failure: DocumentError | None = None


Read = TypeVar("Read")


def attempted(read: Callable[[], Read]) -> Read | DocumentError:
    """What `read` returns, or the DocumentError that it raises."""
    try:
        return read()
    except DocumentError as error:
        return error


def attempted_page(number: int | None, read: Callable[[], ResultPage]) -> ResultPage:
    """The page that `read` returns, with its number, or a page that says why it cannot be read."""
    page = attempted(read)
    return ResultPage(words=(), number=number, failure=page) if isinstance(page, DocumentError) else page


_VERSION = re.compile(r"(?<![ ,])[ ,]+(v?\d.*)", re.IGNORECASE)


def name_and_version(program: str) -> tuple[str, str]:
    """The name and the version of a program, e.g. of `ABBYY FineReader 12`; the version begins with a digit."""
    program = " ".join(program.split())
    match = _VERSION.search(program)
    return (program[: match.start()], match[1]) if match else (program, "")


PagesOf = Callable[[bytes, str], Sequence[ResultPage]]
"""The pages of a result, from its bytes and its name for errors.

Raises:
    DocumentError: (bad_annotation) when the bytes violate the format as a whole.
"""


class ResultReader:
    """Reader of the results in one format.

    Args:
        suffixes: endings of the names of results, in lower case, e.g. `.hocr`. Files `*.fields.json` are no results.
        pages_of: reads one result.
    """

    tags = ""

    def __init__(self, name: str, suffixes: Sequence[str], pages_of: PagesOf) -> None:
        self.name = name
        self._suffixes = tuple(suffixes)
        self._pages_of = pages_of

    def discover(self, root: str) -> Iterator[DocumentRef]:
        files = list(sources.list_files(root))
        scans = scans_by_stem(files)
        references = (
            DocumentRef(
                key=file_name(stem).name,
                source=named(stem, scans) or uri,
                image=named(stem, scans),
                annotation=uri,
                split="",
            )
            for uri in files
            if uri.lower().endswith(self._suffixes) and not uri.lower().endswith(FIELDS_SUFFIX)
            for stem in (self._stem(uri),)
        )
        names = " or ".join(f"NAME{suffix}" for suffix in self._suffixes)
        return require_any(references, root, f"{names}, and NAME.pdf or a picture of that name beside it")

    def read(self, reference: DocumentRef) -> Truth:
        data = sources.read_bytes(reference.annotation)
        scan = sources.read_bytes(reference.image) if reference.image else b""
        doc_id = sources.content_id(scan or data)
        results = self._pages_of(data, reference.annotation)
        if not results:
            raise malformed(reference.annotation, "the result has no page")
        frames = _page_frames(scan, reference.image) if reference.image else []
        numbers = _numbers(results, len(frames), reference)
        placed: list[tuple[Page, PageWords]] = []
        failures: dict[int, DocumentError] = {}
        for number, result in zip(numbers, results, strict=True):
            frame = frames[min(number, len(frames)) - 1] if frames else None
            try:
                placed.append(_place(result, frame, doc_id, number, reference))
            except DocumentError as error:
                failures[number] = error
        document = reference.document(doc_id, len(frames) or max(numbers), self._fields(reference))
        return truth_of_pages(document, [page for page, _ in placed], [words for _, words in placed], failures)

    def _stem(self, uri: str) -> str:
        longest = max((suffix for suffix in self._suffixes if uri.lower().endswith(suffix)), key=len)
        return uri[: -len(longest)]

    def _fields(self, reference: DocumentRef) -> Iterator[Field]:
        """The fields of the document's `*.fields.json` file, if there is one, without empty values."""
        stems = self._stem(reference.annotation), without_suffix(reference.image or reference.annotation)
        forms = dict.fromkeys((*stems, *(normalize(form, stem) for form in ("NFC", "NFD") for stem in stems)))
        uri = next(filter(sources.exists, (stem + FIELDS_SUFFIX for stem in forms)), None)
        values = json_object(sources.read_bytes(uri), uri) if uri else {}
        for name, value in values.items():
            for text in value if isinstance(value, list) else [value]:
                if not isinstance(text, str):
                    raise malformed(uri or "", f"`{name}` is {value!r:.80}, expected a text or a list of texts")
                if text.strip():
                    yield Field(name, text.strip())


def _place(
    stated: ResultPage, frame: PictureFrame | None, doc_id: str, number: int, reference: DocumentRef
) -> tuple[Page, PageWords]:
    """Page `number` of a document, and its words in the unit of the result. `frame`: its picture; None without one."""
    if stated.failure:
        raise stated.failure
    where = f"{reference.annotation}, page {number}"
    result = _upright(stated, frame) if frame else stated
    scan = frame and frame.size
    unit = result.size or scan or result.pixels or extent(_boxes(result))
    pixels = scan or result.pixels or unit
    if not all(0 < side < math.inf for size in (unit, pixels) for side in (size.width, size.height)):
        raise malformed(where, f"the page is {unit.width} x {unit.height}, expected sides above 0")
    words = PageWords(unit)
    lines: dict[Hashable, int] = {}
    blocks: dict[Hashable, int] = {}
    for word in result.words:
        with words.dropping():
            if isinstance(word, DocumentError):
                raise word
            text = word.text.strip()
            if text.endswith(_SOFT_HYPHEN):  # programs write it where the page shows a hyphen
                text = text[:-1] + "-"
            if not text or word.sides is None:
                words.dropped += 1
                continue
            place = f"{where} ({text!r:.40})"
            if word.confidence is not None and not 0 <= word.confidence <= 1:
                raise malformed(place, f"the confidence is {word.confidence} of 1, expected 0 to 1")
            box = words.place(word.sides, place)
            line, block = lines.setdefault(word.line, len(lines)), blocks.setdefault(word.block, len(blocks))
            words.words += [
                Word(text=part, box=its_box, confidence=word.confidence, line=line, block=block)
                for part, its_box in split_words(text, box)
            ]
    whole = PageSize(*(max(round(side), 1) for side in (pixels.width, pixels.height)))
    program = " ".join(filter(None, (result.engine, result.version))) or "another program"
    origin = Provenance(
        words="annotation", reason=f"a recognition result of {program}", engine=result.engine, version=result.version
    )
    return words.page(doc_id, reference, number, whole, origin), words


def _boxes(result: ResultPage) -> list[Sequence[float]]:
    """The boxes of the words, without those that are not finite."""
    words = (word for word in result.words if isinstance(word, ResultWord))
    return [word.sides for word in words if word.sides and all(map(math.isfinite, word.sides))]


_TURNS: dict[int, Callable[[Sequence[float], PageSize], Sequence[float]]] = {
    5: lambda box, _: (box[1], box[0], box[3], box[2]),
    6: lambda box, stored: (stored.height - box[3], box[0], stored.height - box[1], box[2]),
    7: lambda box, stored: (
        stored.height - box[3],
        stored.width - box[2],
        stored.height - box[1],
        stored.width - box[0],
    ),
    8: lambda box, stored: (box[1], stored.width - box[2], box[3], stored.width - box[0]),
}
"""By EXIF orientation, a box on the upright picture from a box on the stored one, whose size is given."""


def _upright(result: ResultPage, frame: PictureFrame) -> ResultPage:
    """The page with boxes on the upright picture. Some programs ignore EXIF: their boxes are on the stored picture."""
    turn = _TURNS.get(frame.orientation)
    if turn is None or not _is_on_stored(result, frame.size):
        return result
    stored = result.size or PageSize(frame.size.height, frame.size.width)
    words = [
        replace(word, sides=word.sides and turn(word.sides, stored)) if isinstance(word, ResultWord) else word
        for word in result.words
    ]
    return replace(result, words=words, size=PageSize(stored.height, stored.width))


def _is_on_stored(result: ResultPage, upright: PageSize) -> bool:
    """Whether a page is on the stored picture, which lies sideways.

    Its size says so: wide instead of high, or the reverse. Without a size, or with positions as shares of the page, its
    words say so: they are higher than wide.
    """
    size = result.size
    if size and size.width != size.height:
        return (size.width > size.height) != (upright.width > upright.height)
    long = [word for word in result.words if isinstance(word, ResultWord) and len(word.text) >= _CLEARLY_WIDE]
    boxes = _boxes(replace(result, words=long))
    return sum(abs(y1 - y0) > abs(x1 - x0) for x0, y0, x1, y1 in boxes) > len(boxes) / 2


def _numbers(results: Sequence[ResultPage], num_scanned: int, reference: DocumentRef) -> list[int]:
    """Page numbers of a result, from 1. `num_scanned`: pages of the picture or PDF file; 0 without one."""
    if 0 < num_scanned < len(results):
        raise malformed(
            reference.annotation,
            f"the result has {len(results)} pages, but {reference.image} has {num_scanned}; "
            "give each result the name of its own PDF file or picture",
        )
    stated = [result.number for result in results if result.number is not None]
    if len({*stated}) == len(results) and min(stated) >= 1 and (num_scanned <= 1 or max(stated) <= num_scanned):
        return stated
    return list(range(1, len(results) + 1))


def _page_frames(scan: bytes, uri: str) -> list[PictureFrame]:
    if file_name(uri).suffix.lower() != ".pdf":
        return picture_frames(scan, uri)
    settings = Recognition()
    frames: list[PictureFrame] = []
    with pdf.opened(scan, settings) as document:
        for number in range(1, len(document) + 1):
            with pdf.opened_page(document, number) as page:
                frames.append(PictureFrame(PageSize(*pdf.pixel_size(page, settings))))
    return frames
