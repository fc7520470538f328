"""The fields of a fillable PDF page (AcroForm): their names, values, states and boxes, and what is drawn in them."""

import bisect
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pypdfium2.raw as pdfium_c

from layoutray.document import Box, Word
from layoutray.document.page import FormField, FormFieldKind
from layoutray.ocr import calls, characters
from layoutray.ocr.pdf import MOST_FIELDS, NOT_SHOWN, PdfFile, PdfPage, Sides, box_mapping

_KINDS: dict[int, FormFieldKind] = {
    pdfium_c.FPDF_FORMFIELD_TEXTFIELD: "text",
    pdfium_c.FPDF_FORMFIELD_COMBOBOX: "choice",
    pdfium_c.FPDF_FORMFIELD_LISTBOX: "choice",
    pdfium_c.FPDF_FORMFIELD_CHECKBOX: "check",
    pdfium_c.FPDF_FORMFIELD_RADIOBUTTON: "radio",
    pdfium_c.FPDF_FORMFIELD_SIGNATURE: "signature",
}
_MOST = 1_000_000
"""Characters of names and values, and options of choices, of a page whose form fields are read."""
_NOT_READ = f"; its form fields are not read: it has over {MOST_FIELDS} annotations, or they over {_MOST} characters"
_XFA = "; the fields of its XFA form are not read"


def read(document: PdfFile, page: PdfPage, words: Sequence[Word]) -> tuple[tuple[FormField, ...], str]:
    """The form fields of a page in the order of the file, and what to say about them; both empty without a form.

    Args:
        words: of the text layer of `page.merged`.
    """
    if not document.formenv:
        return (), ""
    found = _widgets(document.formenv, page.shown) if page.shown.formenv else None
    if not found:
        is_xfa = document.get_formtype() != pdfium_c.FORMTYPE_ACRO_FORM
        return (), _NOT_READ if found is None else _XFA if is_xfa else ""
    sides = box_mapping(page.shown)([sides for _, sides in found]).tolist()
    boxes = [None if math.isnan(one[0]) else Box(*one) for one in sides]
    texts = _drawn(page, words, boxes)
    fields = tuple(
        replace(field, box=box, drawn=field.drawn if box and (field.drawn == "" or field.on is not None) else text)
        for (field, _), box, text in zip(found, boxes, texts, strict=True)
    )
    return fields, f"; {len(fields)} form fields"


def _widgets(form: Any, page: Any) -> list[tuple[FormField, Sides]] | None:
    """Fields without boxes, and their sides. Nothing is drawn in hidden ones. None if they are too long."""
    found, spent, rectangle = list[tuple[FormField, Sides]](), 0, pdfium_c.FS_RECTF()
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        if kind := _KINDS.get(pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)):
            options = max(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation), 0)
            name = calls.text(pdfium_c.FPDFAnnot_GetFormFieldName, form, annotation)
            value = _value(kind, form, annotation, min(options, _MOST))
            spent += len(name) + len(value) + options
            on = None if kind in ("text", "choice") else bool(pdfium_c.FPDFAnnot_IsChecked(form, annotation))
            on = bool(pdfium_c.FPDFAnnot_HasKey(annotation, b"V")) if kind == "signature" else on
            drawn = "" if pdfium_c.FPDFAnnot_GetFlags(annotation) & NOT_SHOWN else None
            pdfium_c.FPDFAnnot_GetRect(annotation, rectangle)
            sides = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            found.append((FormField(name=name, kind=kind, value=value, on=on, drawn=drawn, box=None), sides))
        pdfium_c.FPDFPage_CloseAnnot(annotation)
        if spent > _MOST:
            return None
    return found


def _value(kind: FormFieldKind, form: Any, annotation: Any, options: int) -> str:
    if kind in ("check", "radio"):
        return calls.text(pdfium_c.FPDFAnnot_GetFormFieldExportValue, form, annotation)
    chosen = (n for n in range(options) if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, n))
    labels = [calls.text(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, number) for number in chosen]
    return "\n".join(labels) or calls.text(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def _drawn(page: PdfPage, words: Sequence[Word], boxes: Sequence[Box | None]) -> list[str]:
    """The words in each box that are no part of the page itself, which it has without its annotations."""
    with closing(page.shown.get_textpage()) as text:
        alone = characters.words_of(characters.read(text), box_mapping(page.shown)).words
    printed = {(word.text, word.box) for word in alone}
    filled_in = [word for word in words if (word.text, word.box) not in printed]
    middles = sorted((((word.box.y0 + word.box.y1) / 2, number) for number, word in enumerate(filled_in)))

    def inside(box: Box) -> list[int]:
        first, end = (bisect.bisect(middles, (side,)) for side in (box.y0, box.y1))
        among = [(number, filled_in[number].box) for _, number in middles[first:end]]
        return sorted(number for number, word in among if box.x0 <= (word.x0 + word.x1) / 2 <= box.x1)

    return [" ".join(filled_in[number].text for number in inside(box)) if box else "" for box in boxes]
