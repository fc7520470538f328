"""Words, pages and documents."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from layoutray.document.geometry import Box
from layoutray.errors import DocumentError, Reason

FormFieldKind = Literal["text", "choice", "check", "radio", "signature"]
_DOC_ID = re.compile(r"(?:[0-9A-Za-z][0-9A-Za-z._-]{0,127})?")
"""Ids are in names of files, and are read from files that others have written. Empty: a document without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word of a page, from an OCR engine, a text layer or an annotation.

    Attributes:
        confidence: confidence of the OCR engine, 0..1; None when no engine has stated one.
        line, block: indices on the page, from 0 in reading order.
        tag: true tag of the word: an IOB2 tag, e.g. `B-total`, or a region label; None when unlabelled.
        group: true group of the word: a number that the words of one record (a line item, say) share on a page; None
            when the annotation states none.
    """

    text: str
    box: Box
    confidence: float | None = None
    line: int = 0
    block: int = 0
    tag: str | None = None
    group: int | None = None

    def part(self, start: int, end: int) -> "Word":
        """The part of the word from character `start` to `end`; its box is that share of the word's width."""
        if (start, end) == (0, len(self.text)):
            return self
        box, letter = self.box, (self.box.x1 - self.box.x0) / len(self.text)
        x1 = min(box.x0 + letter * end, box.x1)
        return replace(self, text=self.text[start:end], box=replace(box, x0=min(box.x0 + letter * start, x1), x1=x1))


@dataclass(frozen=True, slots=True)
class LabelledArea:
    """An annotated area of a page with its label (title, table, …)."""

    label: str
    box: Box


ON, OFF = "☑", "☐"
"""The word that a box of a form is: of one that is ticked, crossed or filled, and of one that is not."""
SIGNED, UNSIGNED = "✍", "unsigned"
"""The word that a signature is, and what the answer of a label without one says."""
REVIEWED = "reviewed"
"""Origin of words that a person has seen on the review page, and whose tags this person has chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a page's words.

    Attributes:
        words: `ocr`, `text_layer` (of a PDF), `annotation` or `reviewed`.
        reason: why this origin was chosen, as text for people.
        engine, version: name of the OCR engine, its version and the hash of its language data; for an annotation, the
            engine that it names; empty without one.
        settings: recognition settings as JSON; empty without OCR.
    """

    words: str
    reason: str
    engine: str = ""
    version: str = ""
    settings: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A form field where it stands on a page. One that stands at several places is there several times.

    docs/forms.md explains the attributes. `box` is relative to the page; None outside of it.
    """

    name: str
    kind: FormFieldKind
    value: str
    on: bool | None
    drawn: str | None
    box: Box | None

    @property
    def values(self) -> tuple[str, ...]:
        """The values that it states, each in one line: the text, or each chosen label; none of a box that is off."""
        lines = self.value.splitlines() if self.kind == "choice" else [self.value]
        return tuple(" ".join(line.split()) for line in lines if self.on is not False and line.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a document: the unit of processing.

    Attributes:
        doc_id: SHA-256 of the source file's bytes, as hex.
        number: page number in the source file, from 1.
        width, height: size of the page picture in pixels, after EXIF rotation; boxes are relative to it.
        source: URI of the source file.
        image: URI of the picture or PDF of this page; empty when there is none.
        split: train, dev or test; empty before it is assigned.
        form_fields: of a fillable PDF file.

    Raises:
        DocumentError: (bad_annotation) when `doc_id` has another form than `check_doc_id` says.
    """

    doc_id: str
    number: int
    width: int
    height: int
    words: tuple[Word, ...]
    source: str
    image: str
    split: str
    provenance: Provenance
    form_fields: tuple[FormField, ...] = ()

    def __post_init__(self) -> None:
        check_doc_id(self.doc_id)


SUMMARY = "summary"
"""Name of the fields that hold reference summaries of a document; a document may have several."""


@dataclass(frozen=True, slots=True)
class Field:
    """One true value of a document, as annotated.

    Attributes:
        row: of a value in a record: its number among the document's records; None for a value of the document.
    """

    name: str
    value: str
    row: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document with its true field values.

    Attributes:
        from_model: name of the model that stated the values; empty if a person or a data set did.
        partial: whether only some values are known: answers of a model are not compared with such a document.

    Raises:
        DocumentError: as `Page`.
    """

    doc_id: str
    source: str
    split: str
    num_pages: int
    fields: tuple[Field, ...] = ()
    from_model: str = ""
    partial: bool = False

    def __post_init__(self) -> None:
        check_doc_id(self.doc_id)


def check_doc_id(doc_id: str) -> None:
    """Raise DocumentError (bad_annotation) unless a document's id is 1 to 128 letters, digits and `.`, `_` and `-`.

    Its first character is a letter or a digit, so that an id never leads out of a folder.
    """
    if not _DOC_ID.fullmatch(doc_id):
        message = (
            f"a document has the id {doc_id!r:.80}; allowed are 1 to 128 ASCII letters, digits, `.`, `_` and `-`, of "
            "which the first is a letter or a digit, for example the SHA-256 of its file"
        )
        raise DocumentError(Reason.BAD_ANNOTATION, message, stage="annotation")
