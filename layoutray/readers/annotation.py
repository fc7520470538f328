"""Shared by readers: find and parse annotation files, convert boxes, and raise errors that name the place."""

import codecs
import json
import math
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from layoutray.document import Box, Document, Page, Provenance, Word
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import DocumentRef, Truth
from layoutray.store import sources

ANNOTATED = Provenance(words="annotation", reason="the data set's own annotation")
IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff"})
_SCAN_SUFFIXES = (".pdf", *sorted(IMAGE_SUFFIXES))
_USABLE_PER_FAULTY = 0.1
"""Usable words for each faulty one, below which a page is refused: its unit or scale is wrong, not a single word."""


@dataclass(frozen=True, slots=True)
class PageSize:
    """Width and height in the unit of the annotation's boxes."""

    width: float
    height: float


@dataclass(slots=True, kw_only=True)
class PageWords:
    """Collects the words of one page. Counts repaired boxes and dropped words; `faults` says why words were dropped."""

    size: PageSize = field(kw_only=False)
    words: list[Word] = field(default_factory=list[Word])
    repairs: int = 0
    dropped: int = 0
    faults: list[DocumentError] = field(default_factory=list[DocumentError])

    @contextmanager
    def dropping(self) -> Generator[None]:
        """Drop and count the word that the block reads, if the block raises DocumentError."""
        try:
            yield
        except DocumentError as error:
            self.dropped += 1
            self.faults.append(error)

    def place(self, sides: Iterable[float], where: str) -> Box:
        """The page-relative box, repaired (and counted) if necessary. Raises DocumentError (bad_box) with `where`."""
        try:
            box, changed = Box.repaired(sides, self.size.width, self.size.height)
        except DocumentError as error:
            raise DocumentError(Reason.BAD_BOX, f"{where}: {error}", stage="annotation") from error
        self.repairs += changed
        return box

    def page(
        self,
        doc_id: str,
        reference: DocumentRef,
        number: int = 1,
        pixels: PageSize | None = None,
        provenance: Provenance = ANNOTATED,
    ) -> Page:
        """The page with the collected words. `pixels`: its size in pixels, when the boxes have another unit.

        Raises:
            DocumentError: (that of the first) when nearly all words were dropped for a wrong value.
        """
        if len(self.words) < _USABLE_PER_FAULTY * len(self.faults):
            first = self.faults[0]
            message = f"{len(self.faults)} words of a page cannot be used, the first because of this: {first}"
            raise DocumentError(first.reason, message, stage=first.stage)
        pixels = pixels or self.size
        return Page(
            doc_id=doc_id,
            number=number,
            width=int(pixels.width),
            height=int(pixels.height),
            words=tuple(self.words),
            source=reference.source,
            image=reference.image,
            split=reference.split,
            provenance=provenance,
        )

    def truth(
        self, document: Document, reference: DocumentRef, number: int = 1, pixels: PageSize | None = None
    ) -> Truth:
        """The truth of a document with this one page. Arguments as in `page`."""
        return truth_of_pages(document, [self.page(document.doc_id, reference, number, pixels)], [self])


def malformed(where: str, what: str) -> DocumentError:
    """The error for an annotation that violates its format."""
    return DocumentError(Reason.BAD_ANNOTATION, f"{where}: {what}", stage="annotation")


def require_any(references: Iterable[DocumentRef], root: str, looked_for: str) -> Iterator[DocumentRef]:
    """All `references`. Raises InputError as `nothing_found` at the end if there are none."""
    found = False
    for reference in references:
        found = True
        yield reference
    if not found:
        raise nothing_found(root, looked_for)


def nothing_found(root: str, looked_for: str) -> InputError:
    """The error for a folder without documents of the data set."""
    state = "it has no such file" if sources.exists(root) else "it does not exist"
    return InputError(f"nothing to read below {root!r} ({state}); expected {looked_for}; give the folder that has them")


def text_of(data: bytes, where: str, otherwise: str = "") -> str:
    """Text decoded from UTF-8, with or without a byte order mark, or from UTF-16 with one.

    Args:
        otherwise: the encoding of data sets whose texts are not all in these. No other encoding is tried: bytes of one
            script are often valid in the encoding of another.

    Raises:
        DocumentError: (bad_annotation) if the bytes are no such text.
    """
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encodings = {"UTF-16": "utf-16"} if marked else {"UTF-8": "utf-8-sig"}
    if otherwise:
        encodings[otherwise] = otherwise
    wrong = UnicodeDecodeError("", data, 0, 0, "")
    for encoding in encodings.values():
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            wrong = error
    line, value = data.count(b"\n", 0, wrong.start) + 1, data[wrong.start]
    raise malformed(
        where,
        f"the bytes are not text in {' or '.join(encodings)}: line {line} has the byte 0x{value:02X}; save it as UTF-8 "
        "(in Excel: Save as, CSV UTF-8; in LibreOffice: Save as, Edit filter settings, Unicode UTF-8)",
    )


def json_value(data: bytes, where: str, each: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """The value of a JSON file. `each` is applied to every object while parsing, to save memory with large files."""
    text = text_of(data, where)
    try:
        value = json.loads(text, object_hook=each)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise malformed(where, "a \\u escape is an unpaired surrogate") from error
    except json.JSONDecodeError as error:
        raise malformed(where, f"not JSON, line {error.lineno} column {error.colno}: {error.msg}") from error
    except ValueError as error:
        raise malformed(where, f"not valid JSON: {error}") from error
    except RecursionError as error:
        raise malformed(where, "JSON nested too deeply") from error
    return value


def json_uri(value: Any, *, ascii_only: bool = False) -> str:
    """`value` as JSON in a `data:` URI: the annotation of a document, where one file holds those of many.

    Args:
        ascii_only: escape other characters. A reader keeps its way, because the identity of pages depends on it.
    """
    return sources.data_uri("application/json", json.dumps(value, ensure_ascii=ascii_only).encode())


def json_object(data: bytes, where: str, each: Callable[[dict[str, Any]], Any] | None = None) -> dict[str, Any]:
    """The object of a JSON file. Arguments as in `json_value`."""
    value = json_value(data, where, each)
    if not isinstance(value, dict):
        raise malformed(where, f"the JSON value is a {type(value).__name__}, expected an object")
    return value


def member(owner: dict[str, Any], key: str, kind: type, where: str) -> Any:
    """`owner[key]`, which must be a `kind`."""
    value = owner.get(key)
    if not isinstance(value, kind):
        state = f"is {value!r:.80}" if key in owner else "is missing"
        raise malformed(where, f"`{key}` {state}, expected a {kind.__name__}")
    return value


def objects(owner: dict[str, Any], key: str, where: str, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of the list `owner[key]`, each with its place for messages: `where`, `name` (or `key`) and index."""
    for index, value in enumerate(member(owner, key, list, where)):
        place = f"{where}, {name or key} {index}"
        if not isinstance(value, dict):
            raise malformed(place, f"is {value!r:.80}, expected an object")
        yield place, value


def numbers(value: object, where: str, key: str = "box", form: str = "x0, y0, x1, y1") -> list[float]:
    """A JSON list of numbers, one for each name in `form`."""
    count = len(form.split(", "))
    if not isinstance(value, list) or len(value) != count or not all(type(side) in (int, float) for side in value):
        raise malformed(where, f"`{key}` is {value!r:.80}, expected {count} numbers {form}")
    try:
        return [float(side) for side in value]
    except OverflowError as error:
        raise malformed(where, f"`{key}` has a number out of range") from error


def bounds(quad: Sequence[float], where: str) -> tuple[float, float, float, float]:
    """The bounding box x0, y0, x1, y1 of the corners x1, y1, …, x4, y4, in any order."""
    if not all(map(math.isfinite, quad)):
        raise malformed(where, f"the quad {list(quad)} has a value that is not finite")
    xs, ys = quad[::2], quad[1::2]
    return min(xs), min(ys), max(xs), max(ys)


def page_size(owner: dict[str, Any], where: str) -> PageSize:
    """The page size in pixels from `owner`'s `width` and `height`."""
    width, height = (member(owner, side, int, where) for side in ("width", "height"))
    if min(width, height) < 1:
        raise malformed(where, f"the picture is {width} x {height} pixels, expected at least 1 x 1")
    return PageSize(width, height)


def extent(boxes: Iterable[Sequence[float]]) -> PageSize:
    """The page size without a picture: the extent of the boxes (in pixels), at least 1 x 1."""
    sides = list(boxes)
    width = max((max(box[0], box[2]) for box in sides), default=1)
    height = max((max(box[1], box[3]) for box in sides), default=1)
    return PageSize(max(width, 1), max(height, 1))


def truth_of_pages(
    document: Document,
    pages: Iterable[Page],
    collected: Sequence[PageWords],
    failures: Mapping[int, DocumentError] | None = None,
) -> Truth:
    """The truth of a document with these pages, whose words were collected in `collected`."""
    repairs, dropped = sum(one.repairs for one in collected), sum(one.dropped for one in collected)
    return Truth(document=document, pages=tuple(pages), repairs=repairs, dropped=dropped, failures=failures or {})


def file_name(uri: str) -> PurePosixPath:
    """The last part of `uri`, as a path with `stem` and `suffix`."""
    return PurePosixPath(uri.rpartition("/")[2])


def comparable(uri: str) -> str:
    """`uri` to compare its names with names that people or programs have written: without escapes, in Unicode's NFC.

    macOS stores `ü` as two characters (NFD), and most programs write one.
    """
    return unicodedata.normalize("NFC", unquote(uri) if "://" in uri else uri)


def named(name: str, files: Mapping[str, str]) -> str:
    """The one of `files`, by their names and the comparable forms of these, that has this name; empty if none has."""
    return files.get(name) or files.get(comparable(name), "")


def folder_of(uri: str) -> str:
    """`uri` without its last part."""
    return uri.rpartition("/")[0]


def scans_by_stem(files: Iterable[str]) -> dict[str, str]:
    """PDF files and pictures by their URI, with and without its suffix, for `named`.

    A PDF file goes before pictures of its name.
    """
    by_suffix: dict[str, list[str]] = defaultdict(list)
    for uri in files:
        by_suffix[file_name(uri).suffix.lower()].append(uri)
    scans = [uri for suffix in reversed(_SCAN_SUFFIXES) for uri in by_suffix[suffix]]
    by_name = {without_suffix(uri): uri for uri in scans} | {uri: uri for uri in scans}
    return {comparable(name): uri for name, uri in by_name.items()} | by_name


def without_suffix(uri: str) -> str:
    """`uri` without the suffix of its last part."""
    return uri.removesuffix(file_name(uri).suffix)


def by_kind(root: str, suffixes: Mapping[str, Collection[str]]) -> dict[str, dict[str, dict[str, str]]]:
    """Files `FOLDER/KIND/STEM.SUFFIX` below `root`, by folder, kind (with its `suffixes`) and stem."""
    folders: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for uri in sources.list_files(root):
        folder, kind, name = folder_of(uri), file_name(folder_of(uri)).name, file_name(uri)
        if name.suffix.lower() in suffixes.get(kind, ()):
            folders[folder_of(folder)][kind][comparable(name.stem)] = uri
    return folders


def json_beside_pictures(root: str, annotations: str, images: str, splits: Mapping[str, str]) -> Iterator[DocumentRef]:
    """One document for each stem of `FOLDER/{annotations}/STEM.json` and `FOLDER/{images}/STEM.png` (or the like).

    Either may be missing. Folders with pictures only are ignored: they belong to other data sets.

    Args:
        splits: split of the documents by the name of FOLDER.
    """
    files = by_kind(root, {annotations: {".json"}, images: IMAGE_SUFFIXES})
    folders = {folder: kinds for folder, kinds in files.items() if annotations in kinds}
    if not folders:
        raise nothing_found(root, f"{{{','.join(splits)}}}/{annotations}/*.json and {images}/*.png beside them")
    for folder, kinds in sorted(folders.items()):
        jsons, pictures = kinds[annotations], kinds.get(images, {})
        for key in sorted(jsons.keys() | pictures.keys()):
            picture, annotation = pictures.get(key, ""), jsons.get(key, "")
            yield DocumentRef(
                key=key,
                source=picture or annotation,
                image=picture,
                annotation=annotation,
                split=splits.get(file_name(folder).name, ""),
            )
