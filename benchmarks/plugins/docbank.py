"""DocBank: pages of papers with a region label for every token.

Files: `<paper>_<page>.txt` (pages from 0) and `<paper>_<page>_ori.jpg`, in one folder as in the samples, or in
`DocBank_500K_txt/` and `DocBank_500K_ori_img/`. Index files (`…train….txt` etc., one page per line) give the split. A
row is token, x0, y0, x1, y1, R, G, B, font, label; boxes are in thousandths of the page. Drawing marks (`##LTLine##`,
`##LTFigure##`), empty tokens, and exact repeats of token and box are dropped. Tokens with zero height or width are
kept. The text file identifies the document. The page size comes from the picture; without one it is 1000 x 1000.
"""

import re
from collections.abc import Iterator

from layoutray.document import Word
from layoutray.errors import InputError
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import PageSize, PageWords, file_name, malformed, nothing_found, text_of
from layoutray.readers.picture_sizes import picture_size
from layoutray.readers.segments import line_starts, split_words
from layoutray.store import sources

LABELS = frozenset(
    (
        "abstract",
        "author",
        "caption",
        "date",
        "equation",
        "figure",
        "footer",
        "list",
        "paragraph",
        "reference",
        "section",
        "table",
        "title",
    )
)
_DRAWINGS = frozenset({"##LTLine##", "##LTFigure##"})
_PAGE = re.compile(r".*_(\d+)", re.DOTALL)
_INDEX = re.compile(r"(?:^|[^a-z])(train|dev|val|valid|validation|test)(?:[^a-z]|$)", re.IGNORECASE)
_SPLITS = {"train": "train", "test": "test"}
_PICTURE = re.compile(r"(.*)_ori\.(?:jpe?g|png)", re.IGNORECASE | re.DOTALL)
_THOUSANDTHS = PageSize(1000, 1000)


class _DocBank:
    name = "docbank"
    tags = "region"

    def discover(self, root: str) -> Iterator[DocumentRef]:
        pages: list[str] = []
        pictures: dict[str, str] = {}
        indexes: list[str] = []
        for uri in sources.list_files(root):
            name = file_name(uri)
            if picture := _PICTURE.fullmatch(name.name):
                pictures[picture[1]] = uri
            elif name.suffix == ".txt" and _PAGE.fullmatch(name.stem):
                pages.append(uri)
            elif name.suffix == ".txt" and _INDEX.search(name.stem):
                indexes.append(uri)
        if not pages:
            raise nothing_found(
                root, "<paper>_<page>.txt, and pictures <paper>_<page>_ori.jpg in the same or a sibling folder"
            )
        splits = _splits(indexes)
        for uri in pages:
            key = file_name(uri).stem
            yield DocumentRef(
                key=key, source=uri, image=pictures.get(key, ""), annotation=uri, split=splits.get(key, "")
            )

    def read(self, reference: DocumentRef) -> Truth:
        data = sources.read_bytes(reference.source)
        doc_id = sources.content_id(data)
        size = picture_size(sources.read_bytes(reference.image), reference.image) if reference.image else _THOUSANDTHS
        collected = _collect(text_of(data, reference.source), reference.source)
        return collected.truth(reference.document(doc_id), reference, _page_number(reference), size)


def _splits(indexes: list[str]) -> dict[str, str]:
    """Split of each page listed in an index file (with or without folder and suffix)."""
    splits: dict[str, str] = {}
    for uri in indexes:
        match = _INDEX.search(file_name(uri).stem)
        assert match
        split = _SPLITS.get(match[1].lower(), "dev")
        for line in text_of(sources.read_bytes(uri), uri).split():
            key = line.rpartition("/")[2].removesuffix(".txt")
            if splits.setdefault(key, split) != split:
                raise InputError(
                    f"{uri} assigns page {key!r} to {split}, another index file to {splits[key]}; "
                    "a page must have one split"
                )
    return splits


def _page_number(reference: DocumentRef) -> int:
    match = _PAGE.fullmatch(file_name(reference.source).stem)
    if match is None:
        raise malformed(reference.source, "the name does not end in `_<page>.txt`, so its page number is unknown")
    return int(match[1]) + 1


def _collect(text: str, uri: str) -> PageWords:
    page = PageWords(_THOUSANDTHS)
    seen: set[tuple[str, ...]] = set()
    words: list[Word] = []
    # Not splitlines(), which also splits at separators that tokens may contain.
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{uri}, line {number}"
        row = line.rstrip("\r")
        if not row:
            continue
        token, sides, label = _fields(row, where)
        if token in _DRAWINGS or not token.strip() or (token, *sides) in seen:
            page.dropped += 1
            continue
        seen.add((token, *sides))
        box = page.place(_numbers(sides, where), f"{where} ({token!r:.40})")
        words += [Word(text=part, box=place, tag=label) for part, place in split_words(token, box)]
    page.words = _with_lines(words)
    return page


def _fields(row: str, where: str) -> tuple[str, tuple[str, ...], str]:
    """Token, its four sides as text, and label. Only the token may contain tabs."""
    parts = row.rsplit("\t", 9)
    if len(parts) != 10:
        raise malformed(where, f"{row!r:.80} has {len(parts)} tab-separated fields, expected 10")
    token, label = parts[0], parts[9].strip()
    if label not in LABELS:
        raise malformed(where, f"label {label!r:.40} of {token!r:.40} is unknown; allowed: {', '.join(sorted(LABELS))}")
    return token, tuple(parts[1:5]), label


def _numbers(sides: tuple[str, ...], where: str) -> list[float]:
    try:
        return [float(side) for side in sides]
    except ValueError as error:
        raise malformed(where, f"box {sides} must be four numbers in 0..1000") from error


def _with_lines(words: list[Word]) -> list[Word]:
    """The words with line indices, which the files lack."""
    line, numbered = -1, []
    for word, begins in zip(words, line_starts([word.box for word in words]), strict=True):
        line += begins
        numbered.append(Word(text=word.text, box=word.box, line=line, tag=word.tag))
    return numbered


READER = _DocBank()
