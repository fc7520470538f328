"""How right the words are that automatic tagging takes for expected values.

Of pages whose entities a person has marked, the texts of these entities become expected values without places, and tagging has to find
their places again. A value that stands on a page more than once, of which one place is marked, costs precision: tagging cannot tell them
apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from layoutray.document import Field, Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import Span, kind_of, spans
from layoutray.metrics.entity_f1 import Score
from layoutray.prepare.tag_fields import tag_fields


@dataclass(frozen=True, slots=True)
class Retagged:
    """What came of some documents.

    Attributes:
        words: by field, and of all as `all`: tagged words beside those that a person marked.
        values: expected, each once a document.
        missing: of these, stated nowhere.
    """

    words: Mapping[str, Score]
    values: int
    missing: int


def retag(pages: Iterable[Page], said: Iterable[Page], schema: Mapping[str, FieldType]) -> Retagged:
    """Tag `pages` from the texts of the entities of `said`: the same pages, or the same documents as another way of reading gave them.

    Args:
        pages, said: with IOB2 tags; documents of which there are none among `said` are left out.
        schema: the type of each entity that is a field.
    """
    values = {doc_id: _fields(document, schema) for doc_id, document in _by_document(said)}
    kinds: list[tuple[str, str]] = []
    missing = 0
    for doc_id, document in _by_document(pages):
        if doc_id in values:
            found = tag_fields(document, values[doc_id], schema)
            missing += len(found.missing)
            kinds += [
                pair for before, after in zip(document, found.pages, strict=True) for pair in _kinds(before, after)
            ]
    marked = [(gold if gold in schema else "", tagged) for gold, tagged in kinds]
    scores = {name: _score(marked, {name}) for name in schema} | {"all": _score(marked, set(schema))}
    return Retagged(scores, sum(map(len, values.values())), missing)


def _by_document(pages: Iterable[Page]) -> list[tuple[str, list[Page]]]:
    ordered = sorted(pages, key=lambda page: (page.doc_id, page.number))
    return [(doc_id, list(group)) for doc_id, group in groupby(ordered, key=lambda page: page.doc_id)]


def _fields(document: Sequence[Page], schema: Mapping[str, FieldType]) -> list[Field]:
    found = [
        Field(span[0], _text(page, span)) for page in document for span in spans([word.tag for word in page.words])
    ]
    return [field for field in dict.fromkeys(found) if field.name in schema]


def _text(page: Page, span: Span) -> str:
    return " ".join(word.text for word in page.words[span[1] : span[2]])


def _kinds(before: Page, after: Page) -> list[tuple[str, str]]:
    """What each word was marked as, and what it is tagged as; "" for nothing."""
    pairs = zip(before.words, after.words, strict=True)
    return [
        (kind_of(one.tag or "O").removeprefix("O"), kind_of(two.tag or "O").removeprefix("O")) for one, two in pairs
    ]


def _score(kinds: Sequence[tuple[str, str]], names: set[str]) -> Score:
    right = sum(gold == tagged and tagged in names for gold, tagged in kinds)
    tagged, gold = (sum(pair[side] in names for pair in kinds) for side in (1, 0))
    precision, recall = (right / count if count else 0.0 for count in (tagged, gold))
    return Score(precision, recall, 2 * right / (tagged + gold) if tagged + gold else 0.0, gold)
