"""Canary documents: the answers to documents of the owner that another version of a model would change."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, zip_longest

from layoutray.checkpoint import Checkpoint
from layoutray.document import Document, Page
from layoutray.document.normal_form import normal_form
from layoutray.evaluation.capabilities import generates_texts
from layoutray.evaluation.fields import Schema
from layoutray.inference.extractor import Extractor
from layoutray.inference.generation import TextGenerator
from layoutray.prepare.whole_documents import document_groups, read_documents
from layoutray.review.documents import AnsweredDocument
from layoutray.review.values import Prediction, Stated, predicted_values
from layoutray.store.data_set import DataSet
from layoutray.tasks import document_fields_of
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields
from layoutray.training import world


@dataclass(frozen=True, slots=True)
class Compared:
    """An answer of both versions.

    Attributes:
        before, after: of the champion and of the candidate; None for no such answer.
        outcome: `same`; `accepted` or `not accepted` of the same value which only one version accepts; `mended` or
            `broken` if the document's values say so; else `changed`, `new` or `lost`.
    """

    name: str
    before: Prediction | None
    after: Prediction | None
    outcome: str

    def for_review(self, champion: str) -> Prediction:
        """The answer of the candidate, with that of the champion if it is not the same."""
        row = next(one.row for one in (self.after, self.before) if one)
        before, after = (one or Prediction(name=self.name, row=row) for one in (self.before, self.after))
        if self.outcome == "same":
            return replace(after, accepted=True)
        stated = Stated(by=f"version {champion}", text=before.text, page=before.page, words=before.words)
        return replace(after, accepted=False, stated=stated)


@dataclass(frozen=True, slots=True)
class Canary:
    """A document, its pages, and the answers to it."""

    document: Document
    pages: Sequence[Page]
    answers: Sequence[Compared]

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.document.source.rpartition("/")[2]

    @property
    def differences(self) -> list[Compared]:
        """The answers that are not the same."""
        return [one for one in self.answers if one.outcome != "same"]

    def for_review(self, name: str, champion: str, candidate: str) -> AnsweredDocument:
        """The document as model `name` answers it, in version `candidate` and, where it differs, `champion`."""
        return AnsweredDocument(
            doc_id=self.document.doc_id,
            source=self.document.source,
            model_id=name,
            model_version=candidate,
            pages=tuple(self.pages),
            said=tuple(one.for_review(champion) for one in self.answers),
        )


def answer_again(champion: Checkpoint, candidate: Checkpoint, folders: Sequence[str]) -> Iterator[Canary]:
    """The documents of data sets, by id, with the fields that both versions answer, or entities, and records.

    Raises:
        SchemaError: when a folder is not a data set with documents.
    """
    data_sets = [*map(DataSet, folders)]
    versions = [_answering(champion), _answering(candidate)]
    schema = document_fields_of(champion.recipe.task)
    for group in document_groups(data_sets, {one.doc_id for one in read_documents(data_sets)}):
        for document, pages in group:
            before, after = (answers(pages) for answers in versions)
            yield Canary(document, pages, [*compared(before, after, document, schema)])


def compared(
    before: Sequence[Prediction], after: Sequence[Prediction], document: Document, schema: Schema
) -> Iterator[Compared]:
    """The answers of both versions to one document: equal values of a name are one answer, others are by their order.

    Values of a record are compared with those of the same record. `before` gets the rows that `after` has.

    Args:
        schema: fields that the champion answers; their values are compared by normal form.
    """

    def form(said: Prediction) -> str:
        return normal_form(said.value, schema[said.name]) or said.value if said.name in schema else said.text

    before = _in_rows_of(after, before)
    for name, row in dict.fromkeys((one.name, one.row) for one in (*before, *after)):
        old, new = ([one for one in said if (one.name, one.row) == (name, row)] for said in (before, after))
        known = _known(document, name, schema)
        # Nothing is the right answer if none of the known values is missing.
        complete = [known is not None and known <= {*map(form, said)} for said in (old, new)]
        pairs: list[tuple[Prediction | None, Prediction | None]] = []
        for one in [*new]:
            if equal := next((other for other in old if form(other) == form(one)), None):
                pairs.append((equal, one))
                old.remove(equal)
                new.remove(one)
        for pair in (*pairs, *zip_longest(old, new)):
            right = [form(one) in (known or ()) if one else none for one, none in zip(pair, complete, strict=True)]
            yield Compared(name, *pair, _outcome(*pair, right, pair in pairs))


def _in_rows_of(after: Sequence[Prediction], before: Sequence[Prediction]) -> list[Prediction]:
    """`before`, where a record has the row of the record of `after` with most of its words; without one, a new row."""
    words, rows = _words_of_rows(after), {"": ""}
    for row, own in _words_of_rows(before).items():
        record, page, _ = row.rsplit("/", 2)
        shared = {other: len(own & words[other]) for other in words if other.rsplit("/", 2)[0] == record}
        same = max(shared, key=lambda other: shared[other], default="")
        unused = (new for n in count(1) if (new := f"{record}/{page}/{n}") not in {*words, *rows.values()})
        rows[row] = same if shared.get(same) else next(unused)
    return [replace(one, row=rows[one.row]) for one in before]


def _words_of_rows(said: Sequence[Prediction]) -> Mapping[str, set[tuple[int | None, int]]]:
    """Page and number of each word of a record, by row."""
    words: dict[str, set[tuple[int | None, int]]] = defaultdict(set)
    for one in said:
        if one.row:
            words[one.row] |= {(one.page, word) for word in one.words}
    return words


def _outcome(before: Prediction | None, after: Prediction | None, right: Sequence[bool], equal: bool) -> str:
    if equal and before and after:
        return "same" if before.accepted == after.accepted else "accepted" if after.accepted else "not accepted"
    if right[0] != right[1]:
        return "mended" if right[1] else "broken"
    return "new" if before is None else "lost" if after is None else "changed"


def _known(document: Document, name: str, schema: Schema) -> set[str] | None:
    """The normal forms of the true values of a field; None if they are not known."""
    names = {one.name for one in document.fields if one.row is None}
    if name not in schema or document.from_model or not names or (document.partial and name not in names):
        return None
    return {normal_form(one.value, schema[name]) or one.value for one in document.fields if one.name == name}


def _answering(loaded: Checkpoint) -> Callable[[Sequence[Page]], tuple[Prediction, ...]]:
    """What a version answers to the pages of a document."""
    schema, device = document_fields_of(loaded.recipe.task), world.single_process().device
    if generates_texts(loaded):
        generator = TextGenerator(loaded, device)

        def written(pages: Sequence[Page]) -> tuple[Prediction, ...]:
            (text,) = generator.write([pages])
            return predicted_values([asdict(one) for one in written_fields(text.lines, pages, schema)], (), ())

        return written
    extractor = Extractor(loaded, loaded.recipe.name, device)

    def extracted(pages: Sequence[Page]) -> tuple[Prediction, ...]:
        answers = extractor.answers(pages)
        entities = [one for answer in answers for one in answer.entities]
        records = [asdict(one) for answer in answers for one in answer.records]
        fields = [asdict(one) for one in field_answers(entities, schema)]
        return predicted_values(fields, [asdict(one) for one in entities], records)

    return extracted
