"""Correct, expected and answered items of each document, for intervals and for paired comparisons.

The items are the fields of a document, if the checkpoint answers fields, or the entities of its pages. F1 of all items
is then `field_f1` or `f1` of `layoutray.evaluation.evaluate`.

Words can be read with character errors. A model that tags words then decides by the changed words, but its answers
consist of the unchanged ones: the score says whether it finds a value, not whether the value was read correctly. A
model that generates texts copies what it reads.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from layoutray.checkpoint import Checkpoint
from layoutray.document import Field, Page
from layoutray.document.answers import Entity
from layoutray.document.character_noise import noisy
from layoutray.errors import InputError
from layoutray.evaluation.capabilities import generates_texts, word_tagger
from layoutray.evaluation.fields import (
    Schema,
    answer_from_entities,
    generate_answers,
    labelled_documents,
    normal_fields,
)
from layoutray.evaluation.page_selection import PageSelection
from layoutray.inference.extractor import Extractor
from layoutray.inference.generation import Text, TextGenerator
from layoutray.metrics.field_f1 import exact_items
from layoutray.metrics.item_counts import count_items
from layoutray.store import codec
from layoutray.tasks import TagsWords, document_fields_of
from layoutray.training import world

DocumentCounts = Mapping[str, tuple[int, int, int]]
"""The counts of each document, by its id; see `ItemCounts`."""


class EntityItem(NamedTuple):
    """An entity, which is correct if its type and its words are correct."""

    type: str
    page_number: int
    words: tuple[int, ...]


def count_by_document(loaded: Checkpoint, selection: PageSelection, noise: float = 0.0) -> DocumentCounts:
    """The counts of each labelled document of the selection, for a task with a `counted_metric`.

    Args:
        noise: probability that a character is changed, 0..1, see `layoutray.document.character_noise`.

    Raises:
        InputError: when no selected document is labelled.
    """
    if schema := document_fields_of(loaded.recipe.task):
        return _count_fields(loaded, selection, schema, noise)
    items = entity_items(selection, word_tagger(loaded), _Tagger.of(loaded, noise).entities)
    return {doc_id: count_items(expected, answered) for doc_id, (expected, answered) in items.items()}


@dataclass(frozen=True)
class _Tagger:
    """Finds the entities of pages whose words have character errors."""

    extractor: Extractor
    noise: float

    @classmethod
    def of(cls, loaded: Checkpoint, noise: float) -> "_Tagger":
        return cls(Extractor(loaded, loaded.recipe.name, world.single_process().device), noise)

    def entities(self, pages: Sequence[Page]) -> list[tuple[Entity, ...]]:
        tagging = self.extractor.tagging
        windows = tagging.windows(noisy(page, self.noise) for page in pages)
        return tagging.entities(pages, windows, self.extractor.probabilities(windows))


def _count_fields(loaded: Checkpoint, selection: PageSelection, schema: Schema, noise: float) -> DocumentCounts:
    expected = labelled_documents(selection, schema)
    if generates_texts(loaded):
        generator = TextGenerator(loaded, world.single_process().device)

        def write(documents: Sequence[Sequence[Page]]) -> Sequence[Text]:
            return generator.write([[noisy(page, noise) for page in pages] for pages in documents])

        answered = generate_answers(selection, expected, schema, write)
    else:
        answered = answer_from_entities(selection, expected, schema, _Tagger.of(loaded, noise).entities)
    return {
        doc_id: count_items(
            exact_items(normal_fields(document.expected, schema)),
            exact_items(Field(answer.name, answer.value) for answer in document.answers),
        )
        for doc_id, document in zip(expected, answered, strict=True)
    }


def entity_items(
    selection: PageSelection, task: TagsWords, entities: Callable[[Sequence[Page]], Sequence[Sequence[Entity]]]
) -> dict[str, tuple[list[EntityItem], list[EntityItem]]]:
    """The expected and the answered entities of each document that has a page of which all words are tagged.

    Pages with an untagged word are left out, as their entities are not known.

    Args:
        entities: of each page.

    Raises:
        InputError: when no selected page has a tagged entity.
    """
    items: dict[str, tuple[list[EntityItem], list[EntityItem]]] = defaultdict(lambda: ([], []))
    for table in selection.tables():
        pages = [page for page in codec.pages_of(table) if all(word.tag is not None for word in page.words)]
        for page, found in zip(pages, entities(pages), strict=True):
            true = task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
            for of_document, of_page in zip(items[page.doc_id], (true, found), strict=True):
                of_document += [EntityItem(entity.type, page.number, entity.words) for entity in of_page]
    if not any(expected for expected, _ in items.values()):
        raise InputError(
            f"no selected page of {', '.join(selection.folders)} has a tagged entity; choose a labelled data set"
        )
    return items
