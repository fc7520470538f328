"""Scores the answered fields of whole documents, by the rules of GEval and of SROIE."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from layoutray.document import Field, Page
from layoutray.document.answers import Entity, FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.inference.generation import Text
from layoutray.metrics.calibration import best_threshold
from layoutray.metrics.field_f1 import exact_items, field_f1, geval_items
from layoutray.metrics.item_counts import ItemCounts, named_shares
from layoutray.prepare.whole_documents import document_groups
from layoutray.tasks import Confidences
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields

Schema = Mapping[str, FieldType]
"""The type of each field that a checkpoint answers, by the field's name."""


@dataclass(frozen=True, slots=True)
class AnsweredDocument:
    """The expected and the answered fields of one document."""

    expected: Sequence[Field]
    answers: Sequence[FieldAnswer]
    doc_id: str = ""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer, and whether its value is one of the expected ones."""

    answer: FieldAnswer
    correct: bool


@dataclass(frozen=True)
class FieldScores:
    """Scores of answered fields.

    Attributes:
        normal: of normal forms, by field, and of all fields together under `micro`.
        geval: of normal forms against the values as the data set writes them (Kleister's score).
        exact: of the contents of answers, or of the known values that they mean, against the values as the data set
            writes them (SROIE's score).
        best_min_scores: the `min_score` with the highest F1 on these documents, for each field of many values.
    """

    normal: Mapping[str, ItemCounts]
    geval: ItemCounts
    exact: ItemCounts
    best_min_scores: Mapping[str, float] = field(default_factory=dict[str, float])

    def metrics(self) -> dict[str, float]:
        """By the names of reports: `field_f1` of all fields, `field_f1.total` of one, `geval_f1`, `exact_f1`, …

        A share without any item has no value: precision without answers, for example.
        """
        flat: dict[str, float] = {}
        for name, score in self.normal.items():
            suffix = "" if name == "micro" else f".{name}"
            flat |= score.metrics("field_", suffix)
        thresholds = {f"best_min_score.{name}": score for name, score in self.best_min_scores.items()}
        return flat | named_shares({"geval_f1": self.geval.f1, "exact_f1": self.exact.f1}) | thresholds


def labelled_documents(selection: PageSelection, schema: Schema) -> dict[str, list[Field]]:
    """The expected fields of each selected document, by document id.

    Documents without any field are omitted: they have no annotation. So are those of which only some values are known,
    and fields outside `schema`.

    Raises:
        InputError: when no document has a value of a field in `schema`; no answers would then get perfect scores.
    """
    documents = [document for document in selection.documents() if not document.partial]
    names = {value.name for document in documents for value in document.fields}
    if not names & schema.keys():
        raise InputError(
            f"no selected document of {', '.join(selection.folders)} has a value of the checkpoint's fields "
            f"{', '.join(schema)}; fields of these documents: {', '.join(sorted(names)) or 'none'}; "
            "choose a data set that has values of the checkpoint's fields"
        )
    return {
        document.doc_id: [value for value in document.fields if value.name in schema]
        for document in documents
        if document.fields
    }


def answer_from_entities(
    selection: PageSelection,
    expected: Mapping[str, Sequence[Field]],
    schema: Schema,
    entities: Callable[[Sequence[Page]], Sequence[Sequence[Entity]]],
) -> list[AnsweredDocument]:
    """Each document of `expected` with the fields that its entities state, from its first page on.

    A document without pages has no answers.

    Args:
        entities: of each page, see `Predictions.entities`.
    """
    found: dict[str, dict[int, Sequence[Entity]]] = defaultdict(dict)
    for pages in selection.pages_of(expected):
        for page, of_page in zip(pages, entities(pages), strict=True):
            found[page.doc_id][page.number] = of_page
    return [
        AnsweredDocument(
            fields,
            field_answers([one for _, of_page in sorted(found[doc_id].items()) for one in of_page], schema),
            doc_id,
        )
        for doc_id, fields in expected.items()
    ]


def generate_answers(
    selection: PageSelection,
    expected: Mapping[str, Sequence[Field]],
    schema: Schema,
    write: Callable[[Sequence[Sequence[Page]]], Sequence[Text]],
) -> list[AnsweredDocument]:
    """Each document of `expected` with the fields of the text that `TextGenerator.write` makes of its pages."""
    answers = {
        document.doc_id: written_fields(text.lines, [replace(page, form_fields=()) for page in pages], schema)
        for together in document_groups(selection.data_sets, list(expected))
        for (document, pages), text in zip(together, write([pages for _, pages in together]), strict=True)
    }
    return [AnsweredDocument(fields, answers.get(doc_id, ()), doc_id) for doc_id, fields in expected.items()]


def score_fields(documents: Sequence[AnsweredDocument], judged: Sequence[JudgedAnswer], schema: Schema) -> FieldScores:
    """Scores of the answers. `judged`: the answers of `documents`, see `judge`."""
    values = [answered_fields(document.answers, schema) for document in documents]
    contents = [
        [Field(answer.name, answer.known_value or answer.content) for answer in document.answers]
        for document in documents
    ]
    expected = [document.expected for document in documents]
    forms = [normal_fields(fields, schema) for fields in expected]
    return FieldScores(
        field_f1([*map(exact_items, forms)], [*map(exact_items, values)]),
        field_f1([*map(geval_items, expected)], [*map(geval_items, values)], upper=True)["micro"],
        field_f1([*map(exact_items, expected)], [*map(exact_items, contents)])["micro"],
        {name: _best_min_score(name, judged, expected) for name, field_type in schema.items() if field_type.many},
    )


def judge(documents: Sequence[AnsweredDocument], schema: Schema) -> list[JudgedAnswer]:
    """All answers to the fields of `schema`, judged by normal form."""
    return [
        JudgedAnswer(answer, field in forms)
        for document in documents
        for forms in (normal_fields(document.expected, schema),)
        for answer, field in zip(document.answers, answered_fields(document.answers, schema), strict=True)
    ]


def certainties(judged: Sequence[JudgedAnswer], name: str | None = None) -> Confidences:
    """The confidences of the answers, and whether each is correct; of one field if `name` is given."""
    chosen = [one for one in judged if name in (None, one.answer.name)]
    confidences = np.array([one.answer.confidence for one in chosen], np.float64)
    return confidences, np.array([one.correct for one in chosen], np.bool_)


def normal_fields(fields: Sequence[Field], schema: Schema) -> list[Field]:
    """Fields with the normal forms of their values; a value without a normal form is unchanged."""
    return [Field(one.name, normal_form(one.value, schema[one.name]) or one.value) for one in fields]


def answered_fields(answers: Sequence[FieldAnswer], schema: Schema) -> list[Field]:
    """Answers as fields with the normal forms of their values."""
    return normal_fields([Field(one.name, one.value) for one in answers], schema)


def _best_min_score(name: str, judged: Sequence[JudgedAnswer], expected: Sequence[Sequence[Field]]) -> float:
    pairs = [(one.answer.score, one.correct) for one in judged if one.answer.name == name]
    return best_threshold(
        np.array([score for score, _ in pairs]),
        np.array([correct for _, correct in pairs], np.bool_),
        sum(value.name == name for fields in expected for value in fields),
    )
