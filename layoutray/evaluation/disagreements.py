"""Documents in which answers differ from the values that a model stated, for people to decide which are right."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path

from layoutray.document import Document, Field, Page
from layoutray.document.answers import FieldAnswer
from layoutray.document.normal_form import normal_form
from layoutray.evaluation.evaluate import FieldEvaluation
from layoutray.evaluation.fields import AnsweredDocument, Schema
from layoutray.evaluation.model_labels import ModelLabels
from layoutray.prepare.tag_fields import find_value
from layoutray.prepare.whole_documents import document_groups
from layoutray.readers.own.reviewed import REVIEW_FILE
from layoutray.review import documents as review
from layoutray.review.store import ReviewStore
from layoutray.review.values import Prediction, Stated, predicted_values
from layoutray.store.data_set import DataSet


def disagreements(
    folders: Sequence[str], fields: FieldEvaluation, labels: ModelLabels, model: tuple[str, str]
) -> list[review.AnsweredDocument]:
    """The documents with a difference, first those with the most confident answer that differs.

    Documents with records are left out, as their fields are no fields of the document.

    Args:
        folders: data sets that have been answered.
        model: id and version of the model that has answered.
    """
    answered = {one.doc_id: one for one in fields.documents if one.doc_id in labels.stated_by}
    found: list[review.AnsweredDocument] = []
    for group in document_groups([*map(DataSet, folders)], answered):
        for document, pages in group:
            if not pages or any(field.row is not None for field in document.fields):
                continue
            said = tuple(_compared(answered[document.doc_id], document, pages, fields.schema))
            if any(one.stated for one in said):
                found.append(
                    review.AnsweredDocument(
                        doc_id=document.doc_id,
                        source=document.source,
                        model_id=model[0],
                        model_version=model[1],
                        pages=tuple(pages),
                        said=said,
                    )
                )
    found.sort(key=lambda document: max(one.confidence for one in document.said if one.stated), reverse=True)
    return [replace(document, rank=rank) for rank, document in enumerate(found, 1)]


def write_queue(folder: Path, documents: Iterable[review.AnsweredDocument]) -> None:
    """Write documents into a folder that `layoutray review` shows."""
    store = ReviewStore.open(str(folder / REVIEW_FILE))
    for document in documents:
        store.add(document)
    store.close()


def _compared(
    answered: AnsweredDocument, document: Document, pages: Sequence[Page], schema: Schema
) -> Iterator[Prediction]:
    """The values of both. Those that are equal need no look; the others have what the document's model has stated."""
    for name, kind in schema.items():
        expected = {
            normal_form(one.value, kind) or one.value: one.value for one in answered.expected if one.name == name
        }
        answers = {one.value: one for one in answered.answers if one.name == name}
        equal = answers.keys() & expected.keys()
        yield from (_prediction(answer, pages) for value, answer in answers.items() if value in equal)
        ours = [answer for value, answer in answers.items() if value not in equal]
        theirs = [text for value, text in expected.items() if value not in equal]
        # One value replaces the other, unless there may be several.
        pairs = [*((one, "") for one in ours), *((None, one) for one in theirs)]
        for answer, text in pairs if kind.many else zip_longest(ours, theirs):
            yield _prediction(answer, pages, name, _stated(Field(name, text or ""), document, pages, schema))


def _stated(field: Field, document: Document, pages: Sequence[Page], schema: Schema) -> Stated:
    """A value that the document's model has stated, with its first occurrence."""
    found = find_value(field, schema[field.name], pages)
    places = ((page.number, tuple(range(*span))) for page, spans in zip(pages, found, strict=True) for span in spans)
    page, words = next(places, (None, ()))
    return Stated(by=document.from_model, text=field.value, page=page, words=words)


def _prediction(
    answer: FieldAnswer | None, pages: Sequence[Page], name: str = "", stated: Stated | None = None
) -> Prediction:
    """The answer, which needs a look if something else is stated; without an answer, a value without text."""
    if answer is None:
        return Prediction(name=name, stated=stated)
    (said,) = predicted_values([asdict(answer)], (), ())
    return replace(said, accepted=stated is None, words=_words(answer, pages), stated=stated)


def _words(answer: FieldAnswer, pages: Sequence[Page]) -> tuple[int, ...]:
    """Numbers of the words in the regions of an answer. A region may be a part of a word that OCR has joined."""
    found: list[int] = []
    for region in answer.bounding_regions:
        left, top, right, bottom = *region.polygon[:2], *region.polygon[4:6]
        for page in (page for page in pages if page.number == region.page_number):
            for number, word in enumerate(page.words):
                x0, y0, x1, y1 = word.box.to_pixels(page.width, page.height)
                overlap = max(min(x1, right) - max(x0, left), 0) * max(min(y1, bottom) - max(y0, top), 0)
                smaller = min((x1 - x0) * (y1 - y0), (right - left) * (bottom - top))
                if overlap > smaller / 2:
                    found.append(number)
    return tuple(sorted({*found}))
