"""Values that a model stated, not a person (`from_model` of a document), where they stand for the truth.

Of such a document, a value that stands nowhere is no truth: the model may have invented it. Whether the document has
another value of this field is not known, so that answers to the field are not judged either. Other values are compared
as if they were true; what is measured is then how far the answers agree with that model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from layoutray.document import Field
from layoutray.evaluation.evaluate import FieldEvaluation, evaluation_of_fields
from layoutray.evaluation.fields import AnsweredDocument, Schema
from layoutray.prepare.tag_fields import tag_fields
from layoutray.prepare.whole_documents import document_groups, read_documents
from layoutray.store.data_set import DataSet


@dataclass(frozen=True)
class ModelLabels:
    """The documents whose values a model stated.

    Attributes:
        stated_by: name of the model, by document id.
        not_found: values that occur nowhere in their document, by document id; only documents that have some.
    """

    stated_by: Mapping[str, str]
    not_found: Mapping[str, Sequence[Field]]

    @classmethod
    def of(cls, folders: Sequence[str], schema: Schema) -> "ModelLabels":
        """Those of data sets. Values of fields that are not in `schema` are ignored."""
        data_sets = [*map(DataSet, folders)]
        every = {one.doc_id: one.from_model for one in read_documents(data_sets)}
        stated_by = {doc_id: name for doc_id, name in every.items() if name}
        missing = {
            document.doc_id: tag_fields(pages, document.fields, schema).missing
            for group in document_groups(data_sets, stated_by)
            for document, pages in group
        }
        return cls(stated_by, {doc_id: fields for doc_id, fields in missing.items() if fields})

    def known(self, fields: FieldEvaluation) -> FieldEvaluation:
        """`fields` without the values that were not found, and without the answers to their fields."""
        documents: list[AnsweredDocument] = []
        for document in fields.documents:
            unknown = {field.name for field in self.not_found.get(document.doc_id, ())}
            expected = [field for field in document.expected if field.name not in unknown]
            answers = [answer for answer in document.answers if answer.name not in unknown]
            documents.append(replace(document, expected=expected, answers=answers))
        return evaluation_of_fields(fields.schema, documents)
