"""Scientific papers as PDFs for summarisation: the abstract is the summary, the text after it the input.

The arXiv and PubMed summarisation sets are built in the same way (arXiv:1804.05685), but without the positions of
words. An abstract starts after its heading (a line of its own, or `Abstract.` before the first word). It ends before
the heading of the introduction, or before keywords or contents if they come first. Text before the introduction is in
no page. A paper without these headings is rejected. So is one whose abstract is very short or very long, because a
heading is then probably missing.

The words come from `layoutray.ocr`: from a page's text layer if it is usable, else from OCR.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from layoutray.document import SUMMARY, Field, Word
from layoutray.errors import DocumentError, Reason
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.readers import DocumentRef, Truth
from layoutray.readers.annotation import file_name, require_any
from layoutray.store import sources

_MIN_WORDS, _MAX_WORDS = 20, 600
"""Allowed number of words of an abstract."""
_HYPHENATED = re.compile(r"(?<=\w)-\n(?=[a-z])")
"""A hyphen at the end of a line. A few of these belong to the word; they are removed too."""
_NUMBER = r"(?:(?:\d+|[ivx]+)\W*)?"
_ABSTRACT = re.compile(r"abstract(?:\W*$|\s*[.:\u2013\u2014-]\s*)", re.IGNORECASE)
_INTRODUCTION = re.compile(rf"{_NUMBER}introduction\W*", re.IGNORECASE)
_END = re.compile(rf"{_NUMBER}introduction[\W\d]*$|contents\W*$|key\s?words|index terms|pacs\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the paper: index of its page, and its words."""

    page: int
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True)
class _Abstracts:
    name = "abstracts"
    tags = ""

    recognition: Recognition = field(default_factory=Recognition)

    def with_recognition(self, recognition: Recognition) -> "_Abstracts":
        return _Abstracts(recognition)

    def discover(self, root: str) -> Iterator[DocumentRef]:
        references = (
            DocumentRef(key=uri, source=uri, image=uri, annotation="", split="")
            for uri in sources.list_files(root)
            if file_name(uri).suffix.lower() == ".pdf"
        )
        return require_any(references, root, "NAME.pdf")

    def read(self, reference: DocumentRef) -> Truth:
        """The paper from the introduction on, with its abstract as summary.

        Raises:
            DocumentError: not_annotated when no abstract before an introduction is found; also as recognition raises.
        """
        data = sources.read_bytes(reference.source)
        doc_id, given = sources.content_id(data), (reference.source, reference.image, reference.split)
        with IsolatedRecogniser(self.recognition) as recogniser:
            numbers = range(1, recogniser.count_pages(data) + 1)
            recognised = [recogniser.recognise(data, number).of_document(doc_id, *given) for number in numbers]
        lines = [
            _Line(number, tuple(words))
            for number, page in enumerate(recognised)
            for _, words in groupby(page.words, key=lambda word: (word.block, word.line))
        ]
        abstract, article = _split_paper(lines, reference.source)
        pages = tuple(
            replace(page, words=words, form_fields=())
            for number, page in enumerate(recognised)
            if (words := tuple(word for line in article if line.page == number for word in line.words))
        )
        document = reference.document(doc_id, len(pages), [Field(SUMMARY, abstract)])
        return Truth(document=document, pages=pages)


def _split_paper(lines: Sequence[_Line], source: str) -> tuple[str, Sequence[_Line]]:
    """The abstract, and the lines after the introduction's heading."""
    heading = next((number for number, line in enumerate(lines) if _ABSTRACT.match(line.text)), None)
    if heading is None:
        raise _no_abstract(source, "no heading of an abstract")
    after = range(heading + 1, len(lines))
    end = next((number for number in after if _END.match(lines[number].text)), None)
    start = next((number for number in after if _INTRODUCTION.fullmatch(lines[number].text)), None)
    if end is None or start is None:
        raise _no_abstract(source, "no heading of an introduction after the abstract")
    first = _ABSTRACT.sub("", lines[heading].text, count=1)
    text = "\n".join([first, *(line.text for line in lines[heading + 1 : end])])
    abstract = _HYPHENATED.sub("", text).replace("\n", " ").strip()
    count = len(abstract.split())
    if not _MIN_WORDS <= count <= _MAX_WORDS:
        raise _no_abstract(
            source, f"{count} words between the headings; an abstract has {_MIN_WORDS} to {_MAX_WORDS} words"
        )
    return abstract, lines[start + 1 :]


def _no_abstract(source: str, reason: str) -> DocumentError:
    return DocumentError(Reason.NOT_ANNOTATED, f"no abstract found in {source}: {reason}", stage="annotation")


READER = _Abstracts()
