"""Find entities: one IOB2 tag for each word, predicted at the word's first token.

An entity of a field may be a part of its words, because OCR joins words: `14/02/2018` of `Date:14/02/20185:37PM`. Its
content and regions are those of the part. The entity of a mark is the box in the line of its words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from layoutray.document import Page
from layoutray.document.answers import Candidate, Entity, reading_confidence, regions_of
from layoutray.document.field_type import FieldType
from layoutray.document.mark import Marks, mark_entity
from layoutray.document.normal_form import normal_form
from layoutray.document.record_type import RecordType
from layoutray.document.row_sums import amounts_of, has_near, row_sums
from layoutray.document.tags import spans, split_tag
from layoutray.document.value_part import value_part
from layoutray.errors import InputError
from layoutray.metrics.entity_f1 import entity_f1
from layoutray.tasks import Objective, Outputs, TagsWords, document_fields_of
from layoutray.tasks.field_answers import check_fields
from layoutray.tasks.known_values import with_known_values
from layoutray.tasks.records import check_records
from layoutray.tasks.word_labels import WindowLabels, WordLabelling, geometric_mean, word_probabilities

_LEAST_PROBABILITY = 0.001
"""Of the first tag of a required field's value; a page without such a word has no value of the field."""
_MOST_TRIES = 10
"""Words at which values that the decoded tags do not state are searched, by falling probability."""
_LEAST_OF_CANDIDATES = 0.003
"""Probability of the first tag of a candidate. A lower one makes longer answers, and rarely finds a right value."""
_MOST_CANDIDATES = 5
"""Of a field on a page."""


@dataclass(frozen=True)
class Entities(WordLabelling):
    """See the module's docstring.

    Attributes:
        fields: the wanted fields of a document by name. If there are any, words are tagged from the values of
            documents, and the tags of pages are not read.
        records: the records that entities form, by name (see `layoutray.tasks.records`).
        prefixes: prefixes of the tags that each type has.
    """

    name: str = "entities"
    fields: dict[str, FieldType] = field(default_factory=dict[str, FieldType])
    records: dict[str, RecordType] = field(default_factory=dict[str, RecordType])
    objective: ClassVar[Objective] = ("f1", "max")
    prefixes: ClassVar[str] = "BI"

    def __post_init__(self) -> None:
        check_fields(self.fields)
        check_records(self.records, self.fields)
        object.__setattr__(self, "fields", with_known_values(self.fields))

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        types = sorted({split_tag(tag)[1] for page in tags for tag in page} - {""})
        if not types:
            raise InputError("no page has entity tags; ingest a labelled set, or use task masked_lm")
        check_records(self.records, types)
        return "O", *(f"{prefix}-{kind}" for kind in types for prefix in self.prefixes)

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """The scores of seqeval.

        `precision`, `recall` and `f1` are micro averages, `f1.total` is of type `total`; `support` counts entities.
        A share without any entity has no value.
        """
        pages = self.labels_by_page(observations, labels)
        metrics: dict[str, float] = {}
        for kind, counts in entity_f1([page.gold for page in pages], [page.predicted for page in pages]).items():
            suffix = "" if kind == "micro" else f".{kind}"
            metrics |= counts.metrics(suffix=suffix) | {f"support{suffix}": float(counts.expected)}
        return metrics

    def entities_from_probabilities(
        self, page: Page, probabilities: NDArray[np.float32], labels: Sequence[str]
    ) -> tuple[Entity, ...]:
        """The entities, with the most probable value of each required field of which the decoded tags state none.

        Those of fields with `is_sum` say whether they are a sum of the page's rows, and whether another amount is near.
        """
        found = super().entities_from_probabilities(page, probabilities, labels)
        for name, field_type in self.fields.items():
            if field_type.required and not any(_states(entity, name, field_type) for entity in found):
                found += self._most_probable(page, probabilities, labels, name)
        amounts = {name: field_type for name, field_type in self.fields.items() if field_type.is_sum}
        if not any(entity.type in amounts for entity in found):
            return found
        printed = amounts_of(page)
        sums = row_sums(printed)

        def compared(entity: Entity) -> Entity:
            form = normal_form(entity.content, amounts[entity.type])
            return replace(entity, sum_of_rows=form in sums if sums else None, near_amount=has_near(form, printed))

        return tuple(compared(entity) if entity.type in amounts else entity for entity in found)

    def candidates(
        self, page: Page, outputs: Outputs, labels: Sequence[str], found: Sequence[Entity]
    ) -> tuple[Candidate, ...]:
        """See `TagsWords`. A value goes on as long as the next word continues it half as probably as it begins."""
        names = [
            name
            for name, kind in document_fields_of(self).items()
            if not kind.many and kind.type not in ("mark", "signature")
        ]
        probabilities, tags = word_probabilities(page, outputs, labels), [*map(split_tag, labels)]
        candidates: list[Candidate] = []
        for name in names:
            kind = self.fields[name]
            begins = probabilities[:, [tag in (("B", name), ("S", name)) for tag in tags]].sum(axis=1)
            inside = probabilities[:, [tag in (("I", name), ("E", name)) for tag in tags]].sum(axis=1)
            known = {normal_form(entity.content, kind) for entity in found if entity.type == name} | {None}
            most = len(known) + _MOST_CANDIDATES
            for word in np.argsort(-begins, kind="stable")[:_MOST_TRIES].tolist():
                if begins[word] < _LEAST_OF_CANDIDATES or len(known) == most:
                    break
                end = word + 1
                while end < len(inside) and inside[end] >= begins[word] / 2:
                    end += 1
                shares = [float(begins[word]), *inside[word + 1 : end].tolist()]
                one = _entity(page, name, range(word, end), shares, kind)
                if (form := normal_form(one.content, kind)) not in known:
                    known.add(form)
                    candidates.append(Candidate(**{key: getattr(one, key) for key in Candidate.__slots__}))
        return tuple(candidates)

    def entities_from_tags(
        self, page: Page, tags: Sequence[str | None], confidences: Sequence[float]
    ) -> tuple[Entity, ...]:
        return tuple(
            _entity(page, kind, range(start, end), confidences[start:end], self.fields.get(kind))
            for kind, start, end in spans(tags)
        )

    def _most_probable(
        self, page: Page, probabilities: NDArray[np.float32], labels: Sequence[str], name: str
    ) -> tuple[Entity, ...]:
        """The value of field `name` at the word that most probably begins one; empty if no word may begin one."""
        begins = np.array([split_tag(label) in (("B", name), ("S", name)) for label in labels])
        of_words = probabilities[:, begins].sum(axis=1)
        for word in np.argsort(-of_words, kind="stable")[:_MOST_TRIES].tolist():
            if of_words[word] < _LEAST_PROBABILITY:
                break
            only_begins = probabilities.copy()
            only_begins[word, ~begins] = 0.0
            for entity in super().entities_from_probabilities(page, only_begins, labels):
                if word in entity.words and _states(entity, name, self.fields[name]):
                    return (entity,)
        return ()


def _states(entity: Entity, name: str, field_type: FieldType) -> bool:
    """Whether an entity states a value of the field `name`."""
    return entity.type == name and normal_form(entity.content, field_type) is not None


def _entity(
    page: Page, kind: str, numbers: range, confidences: Sequence[float], field_type: FieldType | None
) -> Entity:
    if field_type and field_type.type == "mark" and (mark := Marks(page).nearest(numbers)) is not None:
        return mark_entity(page, kind, mark, geometric_mean(confidences))
    words = {number: page.words[number] for number in numbers}
    part = value_part(" ".join(word.text for word in words.values()), field_type) if field_type else None
    if part:
        # The words, or parts of them, in this range of characters of their texts joined by spaces.
        start, end = part.start, part.end
        whole, words = words, {}
        for number, word in whole.items():
            first, last = max(start, 0), min(end, len(word.text))
            if first < last:
                words[number] = word.part(first, last)
            start, end = start - len(word.text) - 1, end - len(word.text) - 1
    content = " ".join(word.text for word in words.values())
    regions, reading = regions_of(page, words.values()), reading_confidence(words.values())
    return Entity(
        type=kind,
        content=content,
        confidence=geometric_mean(confidences),
        bounding_regions=regions,
        words=tuple(words),
        reading_confidence=reading,
    )


TASK: type[TagsWords] = Entities
