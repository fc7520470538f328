"""The one metric by which trained models are compared, with the counts of each document where it is an F1.

Counts are of correct, expected and answered items: the fields of a document, if the checkpoint answers fields, or the
entities of its pages. F1 of all items is then `field_f1` or `f1` of `layoutray.evaluation.evaluate`.

Words can be read with character errors. A model that tags words then decides by the changed words, but its answers
consist of the unchanged ones: the score says whether it finds a value, not whether the value was read correctly. A
model that generates texts copies what it reads.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

import numpy as np

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page, Word
from layoutray.document.answers import Entity
from layoutray.document.tags import is_known
from layoutray.errors import InputError
from layoutray.evaluation.capabilities import counted_metric, generates_texts, word_tagger
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.fields import (
    answer_from_entities,
    answered_fields,
    generate_answers,
    labelled_documents,
    normal_fields,
)
from layoutray.evaluation.page_selection import PageSelection
from layoutray.inference.extractor import Extractor
from layoutray.inference.generation import Text, TextGenerator
from layoutray.metrics.bootstrap import Counts, Estimate, f1, mean_of_seeds
from layoutray.metrics.item_counts import ItemCounts, count_items
from layoutray.store import codec, shards, sources
from layoutray.tasks import TagsWords, document_fields_of
from layoutray.training import world
from layoutray.version import VERSION

DocumentCounts = Mapping[str, ItemCounts]
"""The counts of each document, by its id."""
Items = Sequence[tuple[Any, ...]]
"""Name and value of fields, values in their normal forms; or type, page number and words of entities."""


@dataclass(frozen=True)
class Measurement:
    """What was measured of one checkpoint.

    Attributes:
        metric: `field_f1` of a model that answers fields, `f1` of one that finds entities, else the task's objective.
        best: whether higher or lower values are better.
        counts: of each document, if the metric is an F1; else empty.
    """

    metric: str
    best: Literal["min", "max"]
    value: float
    counts: DocumentCounts = field(default_factory=dict[str, ItemCounts])


def measure(loaded: Checkpoint, selection: PageSelection, noise: float = 0.0) -> Measurement:
    """Measure a checkpoint on the selected pages. Raises InputError as `evaluate` and `count_by_document`.

    Args:
        noise: see `items_by_document`; only for a metric with counts.
    """
    if metric := counted_metric(loaded.recipe.task):
        counts = count_by_document(loaded, selection, noise)
        return Measurement(metric, "max", f1(np.array([[*counts.values()]])).value, counts)
    metric, best = loaded.recipe.task.objective
    return Measurement(metric, best, evaluate(loaded, selection).metrics[metric])


def metrics_under_noise(loaded: Checkpoint, selection: PageSelection, shares: Sequence[float]) -> dict[str, float]:
    """The F1 of a checkpoint when words have wrong characters, by names such as `field_f1_noise_5` (for 0.05).

    Raises:
        InputError: if shares are given and the checkpoint has no `counted_metric`.
    """
    metric = counted_metric(loaded.recipe.task)
    if shares and metric is None:
        raise InputError(
            f"task {loaded.recipe.task.name} has no F1 of fields or entities, so noise cannot be measured; leave it out"
        )
    return {noise_metric(str(metric), share): measure(loaded, selection, share).value for share in shares}


def noise_metric(metric: str, share: float) -> str:
    """The name of `metric` when this share of the characters is wrong."""
    return f"{metric}_noise_{100 * share:g}"


def estimate(of_seeds: Sequence[Measurement]) -> Estimate:
    """The mean metric of models that differ in the seed; all were measured on the same documents."""
    if not of_seeds[0].counts:
        return mean_of_seeds([one.value for one in of_seeds])
    return f1(counts_of(of_seeds))


def counts_of(of_seeds: Sequence[Measurement]) -> Counts:
    """The counts of models that were measured on the same documents, in the order of the first one's documents."""
    doc_ids = [*of_seeds[0].counts]
    return np.array([[one.counts[doc_id] for doc_id in doc_ids] for one in of_seeds])


def kept(
    folder: str, name: str, selection: PageSelection, make: Callable[[Checkpoint, PageSelection], Mapping[str, Any]]
) -> dict[str, Any]:
    """The result `name` of the checkpoint in `folder` on the selected pages, made unless this version has kept it.

    Args:
        make: gives the result, as values that JSON can hold.
    """
    loaded = checkpoint.load(folder)
    file = f"{name}-{selection.name}.json"
    # The names of files of pages follow from their content. Another version may measure other values.
    pages = [uri for data_set in selection.data_sets for uri in shards.shards(data_set.pages)]
    made_from = {
        "layoutray": VERSION,
        "version": loaded.version,
        "excluded": sorted(selection.excluded),
        "pages": pages,
    }
    if sources.exists(sources.join(folder, file)):
        found = json.loads(sources.read_bytes(sources.join(folder, file)))
        if found["made_from"] == made_from:
            return found["result"]
    content = json.dumps({"made_from": made_from, "result": make(loaded, selection)})
    shards.write_bytes(content.encode(), folder, file)
    return json.loads(content)["result"]


def kept_measurement(folder: str, selection: PageSelection) -> Measurement:
    """`measure` of the checkpoint in `folder`, where the result is kept."""
    return Measurement(**kept(folder, "measured", selection, lambda *of: vars(measure(*of))))


def count_by_document(loaded: Checkpoint, selection: PageSelection, noise: float = 0.0) -> DocumentCounts:
    """The counts of each labelled document of the selection; arguments and errors as `items_by_document`."""
    items = items_by_document(loaded, selection, noise)
    return {doc_id: count_items(expected, answered) for doc_id, (expected, answered) in items.items()}


def items_by_document(
    loaded: Checkpoint, selection: PageSelection, noise: float = 0.0
) -> Mapping[str, tuple[Items, Items]]:
    """The expected and the answered items of each labelled document, for a task with a `counted_metric`.

    Args:
        noise: probability that a character is changed, 0..1, see `layoutray.evaluation.measurement`.

    Raises:
        InputError: when no selected document is labelled.
    """
    schema = document_fields_of(loaded.recipe.task)
    if not schema:
        return _entity_items(selection, word_tagger(loaded), _entity_finder(loaded, noise))
    expected = labelled_documents(selection, schema)
    if generates_texts(loaded):
        generator = TextGenerator(loaded, world.single_process().device)

        def write(documents: Sequence[Sequence[Page]]) -> Sequence[Text]:
            return generator.write([[noisy(page, noise) for page in pages] for pages in documents])

        answered = generate_answers(selection, expected, schema, write)
    else:
        answered = answer_from_entities(selection, expected, schema, _entity_finder(loaded, noise))
    return {
        doc_id: (
            [(one.name, one.value) for one in normal_fields(document.expected, schema)],
            [(one.name, one.value) for one in answered_fields(document.answers, schema)],
        )
        for doc_id, document in zip(expected, answered, strict=True)
    }


def _entity_finder(loaded: Checkpoint, noise: float) -> Callable[[Sequence[Page]], Sequence[Sequence[Entity]]]:
    """Finds the entities of each page by words with character errors, see `items_by_document`."""
    extractor = Extractor(loaded, loaded.recipe.name, world.single_process().device)
    tagging = extractor.tagging

    def find(pages: Sequence[Page]) -> list[tuple[Entity, ...]]:
        windows = tagging.windows(noisy(page, noise) for page in pages)
        return [one.entities for one in tagging.found(pages, windows, extractor.probabilities(windows))]

    return find


def _entity_items(
    selection: PageSelection, task: TagsWords, entities: Callable[[Sequence[Page]], Sequence[Sequence[Entity]]]
) -> Mapping[str, tuple[Items, Items]]:
    """The expected and the answered entities of each document that has a page of which all words are tagged.

    Pages with a word whose tag is missing or unknown are left out, as their entities are not known.
    """
    items: dict[str, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for table in selection.tables():
        pages = [page for page in codec.pages_of(table) if all(is_known(word.tag) for word in page.words)]
        for page, found in zip(pages, entities(pages), strict=True):
            true = task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
            for kept, of_page in zip(items[page.doc_id], (true, found), strict=True):
                kept += [(entity.type, page.number, entity.words) for entity in of_page]
    if not any(expected for expected, _ in items.values()):
        raise InputError(
            f"no selected page of {', '.join(selection.folders)} has a tagged entity; choose a labelled data set"
        )
    return items


def noisy(page: Page, rate: float) -> Page:
    """The page with character errors in its words.

    A change is, with equal probability, a deletion, a replacement by another character, or an insertion of a character
    after it. New characters are drawn from those that the page prints. The number of words and their boxes do not
    change: a word that would lose all its characters keeps its first. The errors are a function of the rate, the
    document and the page alone, so that every model reads the same words.

    Args:
        rate: probability that a character is changed, 0..1; 0 returns the page itself.
    """
    letters = sorted({letter for word in page.words for letter in word.text})
    if not rate or not letters:
        return page
    random = Random(f"{rate}/{page.doc_id}/{page.number}")
    words: list[Word] = []
    for word in page.words:
        text = ""
        for letter in word.text:
            if random.random() < rate:
                change, other = random.choice(("delete", "replace", "insert")), random.choice(letters)
                text += "" if change == "delete" else other if change == "replace" else letter + other
            else:
                text += letter
        words.append(replace(word, text=text or word.text[:1]))
    return replace(page, words=tuple(words))
