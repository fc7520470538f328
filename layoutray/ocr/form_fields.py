"""The fields of a fillable PDF page (AcroForm): their names, values, states and boxes, and what is drawn in them."""

import bisect
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pypdfium2.raw as pdfium_c

from layoutray.document import Box, Word
from layoutray.document.form_field import FormField
from layoutray.ocr import calls, characters, text_words
from layoutray.ocr.pdf import MOST_FIELDS, NOT_SHOWN, PdfFile, PdfPage, Sides, box_mapping

_Kind = Literal["text", "choice", "check", "radio", "signature"]
_KINDS: dict[int, _Kind] = {
    pdfium_c.FPDF_FORMFIELD_TEXTFIELD: "text",
    pdfium_c.FPDF_FORMFIELD_COMBOBOX: "choice",
    pdfium_c.FPDF_FORMFIELD_LISTBOX: "choice",
    pdfium_c.FPDF_FORMFIELD_CHECKBOX: "check",
    pdfium_c.FPDF_FORMFIELD_RADIOBUTTON: "radio",
    pdfium_c.FPDF_FORMFIELD_SIGNATURE: "signature",
}
_XFA = (pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND)
_MOST = 1_000_000
"""Characters of names and values, and options of choices, of a page, after which its other fields are not read."""


class _Widget(NamedTuple):
    """A field of a page in PDF coordinates, and whether a viewer shows it."""

    name: str
    kind: _Kind
    value: str
    on: bool | None
    shown: bool
    sides: Sides


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a page in the order of the file, and what to say about them; empty without a form."""

    fields: tuple[FormField, ...] = ()
    told: str = ""


def read(document: PdfFile, page: PdfPage, words: Sequence[Word]) -> FormFields:
    """The form fields of a page.

    Args:
        words: of the text layer of `page.merged`.
    """
    if not document.formenv:
        return FormFields()
    if not page.shown.formenv:
        return FormFields(told=f"; its form fields are not read: it has more than {MOST_FIELDS} annotations")
    widgets, unread = _widgets(document.formenv, page)
    if not widgets:
        return FormFields(told="; the fields of its XFA form are not read" if document.get_formtype() in _XFA else "")
    sides = box_mapping(page.shown)([widget.sides for widget in widgets]).tolist()
    boxes = [None if math.isnan(of_widget[0]) else Box(*of_widget) for of_widget in sides]
    drawn = _drawn(page, words, [box for box, widget in zip(boxes, widgets, strict=True) if box and widget.on is None])
    fields = tuple(
        FormField(
            name=widget.name,
            kind=widget.kind,
            value=widget.value,
            on=widget.on,
            drawn=("" if box is None or not widget.shown else None if widget.on is not None else drawn[box]),
            box=box,
        )
        for box, widget in zip(boxes, widgets, strict=True)
    )
    left = f", {unread} annotations after them are not read: they have more than {_MOST} characters" if unread else ""
    return FormFields(fields, f"; {len(fields)} form fields{left}")


def _widgets(form: Any, page: PdfPage) -> tuple[list[_Widget], int]:
    """The fields of a page, and the number of annotations that were not read."""
    found, spent = list[_Widget](), 0
    count = pdfium_c.FPDFPage_GetAnnotCount(page.shown)
    for index in range(count):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.shown, index)
        kind = _KINDS.get(pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation))
        if kind:
            name = calls.text(pdfium_c.FPDFAnnot_GetFormFieldName, form, annotation)
            options = max(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation), 0) if kind == "choice" else 0
            value = "" if spent + options > _MOST else _value(kind, form, annotation, options)
            spent += len(name) + len(value) + options
            if spent > _MOST:
                pdfium_c.FPDFPage_CloseAnnot(annotation)
                return found, count - index
            found.append(_widget(name, kind, value, form, annotation))
        pdfium_c.FPDFPage_CloseAnnot(annotation)
    return found, 0


def _widget(name: str, kind: _Kind, value: str, form: Any, annotation: Any) -> _Widget:
    rectangle = pdfium_c.FS_RECTF()
    pdfium_c.FPDFAnnot_GetRect(annotation, rectangle)
    on = {
        "check": lambda: bool(pdfium_c.FPDFAnnot_IsChecked(form, annotation)),
        "radio": lambda: bool(pdfium_c.FPDFAnnot_IsChecked(form, annotation)),
        "signature": lambda: bool(pdfium_c.FPDFAnnot_HasKey(annotation, b"V")),
    }.get(kind)
    shown = not pdfium_c.FPDFAnnot_GetFlags(annotation) & NOT_SHOWN
    sides = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
    return _Widget(name, kind, value, on and on(), shown, sides)


def _value(kind: _Kind, form: Any, annotation: Any, options: int) -> str:
    match kind:
        case "signature":
            return ""
        case "check" | "radio":
            return calls.text(pdfium_c.FPDFAnnot_GetFormFieldExportValue, form, annotation)
        case _:
            chosen = [
                calls.text(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, number)
                for number in range(options)
                if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)
            ]
            return "\n".join(chosen) or calls.text(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def _drawn(page: PdfPage, words: Sequence[Word], boxes: Sequence[Box]) -> dict[Box, str]:
    """The words in each box that are no part of the page itself, which it has without its annotations."""
    if not boxes:
        return {}
    with closing(page.shown.get_textpage()) as text:
        alone = text_words.split(characters.read(text), box_mapping(page.shown)).words
    printed = {(word.text, word.box) for word in alone}
    filled_in = [word for word in words if (word.text, word.box) not in printed]
    by_height = sorted((((word.box.y0 + word.box.y1) / 2, number) for number, word in enumerate(filled_in)))
    return {box: " ".join(filled_in[number].text for number in _inside(box, filled_in, by_height)) for box in boxes}


def _inside(box: Box, words: Sequence[Word], by_height: Sequence[tuple[float, int]]) -> list[int]:
    """The numbers of the words whose middle is in a box, in their order."""
    first, end = (bisect.bisect(by_height, (side,)) for side in (box.y0, box.y1))
    among = (number for _, number in by_height[first:end])
    return sorted(n for n in among if box.x0 <= (words[n].box.x0 + words[n].box.x1) / 2 <= box.x1)
