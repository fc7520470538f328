"""Scientific papers as PDFs, each a document to sum up: its abstract is the summary, and its pages from the introduction on are the text.

As the arXiv and PubMed sets are made that models of summaries are compared on (arXiv:1804.05685), but from the printed page, so that words
keep their places. An abstract goes from its heading (a line of its own, or `Abstract.` before its first word) to that of the introduction,
or to the keywords or the contents where they come before. What comes before the introduction is in no page. Papers without such headings
are refused, and so are those with an abstract so short or so long that a heading is likely to be missing.

The words are those of `layoutray.ocr`: of a page's text layer or, where that cannot be trusted, read from its picture.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby

from layoutray.document import SUMMARY, Document, Field, Page, Word
from layoutray.errors import DocumentError, Reason
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, nothing_found
from layoutray.store import sources

_FEWEST, _MOST = 20, 600
"""Words of an abstract."""
_BROKEN = re.compile(r"(?<=\w)-\n(?=[a-z])")
"""A hyphen that breaks a word at the end of a line; a few belong to the word all the same."""
_NUMBER = r"(?:(?:\d+|[ivx]+)\W*)?"
_ABSTRACT = re.compile(r"abstract(?:\W*$|\s*[.:\u2013\u2014-]\s*)", re.IGNORECASE)
_INTRODUCTION = re.compile(rf"{_NUMBER}introduction\W*", re.IGNORECASE)
_END = re.compile(rf"{_NUMBER}introduction[\W\d]*$|contents\W*$|key\s?words|index terms|pacs\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page: the number of the page among those of the paper, and the words."""

    page: int
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


class _Abstracts:
    name = "abstracts"
    tags = ""

    def discover(self, root: str) -> Iterator[DocumentRef]:
        found = False
        for uri in sources.list_files(root):
            if file_name(uri).suffix.lower() == ".pdf":
                found = True
                yield DocumentRef(uri, source=uri, image=uri, annotation="", split="")
        if not found:
            raise nothing_found(root, "NAME.pdf")

    def read(self, item: DocumentRef) -> Truth:
        """The paper without its abstract, which is its summary.

        Raises:
            DocumentError: (not_annotated) where there is no abstract that ends before an introduction; and as reading pages does.
        """
        data = sources.read_bytes(item.source)
        seen = list(_pages(data, sources.content_id(data), item))
        lines = [
            _Line(number, tuple(words))
            for number, page in enumerate(seen)
            for _, words in groupby(page.words, key=lambda word: (word.block, word.line))
        ]
        abstract, article = _parted(lines, item.source)
        pages = tuple(
            replace(page, words=words) for number, page in enumerate(seen) if (words := _words_on(number, article))
        )
        document = Document(sources.content_id(data), item.source, item.split, len(pages), (Field(SUMMARY, abstract),))
        return Truth(document, pages)


def _pages(data: bytes, doc_id: str, item: DocumentRef) -> Iterator[Page]:
    with closing(IsolatedRecogniser(Recognition())) as recogniser:
        for number in range(1, recogniser.count_pages(data) + 1):
            seen = recogniser.recognise(data, number)
            yield Page(
                doc_id,
                number,
                seen.width,
                seen.height,
                seen.words,
                item.source,
                item.image,
                item.split,
                seen.provenance,
            )


def _parted(lines: Sequence[_Line], source: str) -> tuple[str, Sequence[_Line]]:
    """The abstract, and the lines after the heading of the introduction."""
    heading = next((number for number, line in enumerate(lines) if _ABSTRACT.match(line.text)), None)
    if heading is None:
        raise _no_abstract(source, "no line is the heading of an abstract")
    after = range(heading + 1, len(lines))
    end = next((number for number in after if _END.match(lines[number].text)), None)
    start = next((number for number in after if _INTRODUCTION.fullmatch(lines[number].text)), None)
    if end is None or start is None:
        raise _no_abstract(source, "no line after that of the abstract is the heading of an introduction")
    first = _ABSTRACT.sub("", lines[heading].text, count=1)
    abstract = (
        _BROKEN.sub("", "\n".join([first, *(line.text for line in lines[heading + 1 : end])]))
        .replace("\n", " ")
        .strip()
    )
    if not _FEWEST <= (count := len(abstract.split())) <= _MOST:
        raise _no_abstract(
            source, f"there are {count} words between the headings, and an abstract has {_FEWEST} to {_MOST}"
        )
    return abstract, lines[start + 1 :]


def _words_on(page: int, lines: Sequence[_Line]) -> tuple[Word, ...]:
    return tuple(word for line in lines if line.page == page for word in line.words)


def _no_abstract(source: str, why: str) -> DocumentError:
    return DocumentError(
        Reason.NOT_ANNOTATED, f"{source} has no abstract that can be told from its text: {why}", stage="annotation"
    )


READER = _Abstracts()
