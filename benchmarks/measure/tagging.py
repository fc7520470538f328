"""Accuracy of automatic tagging on pages whose entities are annotated.

The texts of the annotated entities become expected values without positions, and tagging has to find the positions. A
value that occurs on a page more than once, with one occurrence annotated, lowers precision: tagging cannot distinguish
the occurrences.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from layoutray.document import Field, Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import Span, kind_of, spans
from layoutray.metrics.item_counts import ItemCounts
from layoutray.prepare.tag_fields import tag_fields


@dataclass(frozen=True, slots=True)
class TaggingAccuracy:
    """Accuracy of the tags of some documents.

    Attributes:
        words: numbers of tagged words by field, and of all fields as `all`.
        values: number of expected values; each value counts once per document.
        missing: number of expected values that were not found.
    """

    words: Mapping[str, ItemCounts]
    values: int
    missing: int


def score_tagging(pages: Iterable[Page], annotated: Iterable[Page], schema: Mapping[str, FieldType]) -> TaggingAccuracy:
    """Tag `pages` with the texts of the entities of `annotated`, and compare the result with the tags of `pages`.

    Args:
        pages: with IOB2 tags.
        annotated: with IOB2 tags; the same pages, or the same documents with the words of another word source.
            Documents of `pages` that are not in `annotated` are left out.
        schema: the type of each entity that is a field.
    """
    values = {doc_id: _fields(document, schema) for doc_id, document in _by_document(annotated)}
    kinds: list[tuple[str, str]] = []
    missing = 0
    for doc_id, document in _by_document(pages):
        if doc_id in values:
            result = tag_fields(document, values[doc_id], schema)
            missing += len(result.missing)
            kinds += [
                pair for before, after in zip(document, result.pages, strict=True) for pair in _kinds(before, after)
            ]
    pairs = [(gold if gold in schema else "", tagged) for gold, tagged in kinds]
    scores = {name: _score(pairs, {name}) for name in schema} | {"all": _score(pairs, set(schema))}
    return TaggingAccuracy(scores, sum(map(len, values.values())), missing)


def _by_document(pages: Iterable[Page]) -> list[tuple[str, list[Page]]]:
    ordered = sorted(pages, key=lambda page: (page.doc_id, page.number))
    return [(doc_id, list(group)) for doc_id, group in groupby(ordered, key=lambda page: page.doc_id)]


def _fields(document: Sequence[Page], schema: Mapping[str, FieldType]) -> list[Field]:
    fields = [
        Field(span[0], _text(page, span)) for page in document for span in spans([word.tag for word in page.words])
    ]
    return [field for field in dict.fromkeys(fields) if field.name in schema]


def _text(page: Page, span: Span) -> str:
    return " ".join(word.text for word in page.words[span[1] : span[2]])


def _kinds(before: Page, after: Page) -> list[tuple[str, str]]:
    """For each word the annotated and the tagged entity type; "" for no entity."""
    pairs = zip(before.words, after.words, strict=True)
    return [
        (kind_of(gold.tag or "O").removeprefix("O"), kind_of(tagged.tag or "O").removeprefix("O"))
        for gold, tagged in pairs
    ]


def _score(kinds: Sequence[tuple[str, str]], names: set[str]) -> ItemCounts:
    right = sum(gold == tagged and tagged in names for gold, tagged in kinds)
    tagged, gold = (sum(pair[side] in names for pair in kinds) for side in (1, 0))
    return ItemCounts(right, gold, tagged)
