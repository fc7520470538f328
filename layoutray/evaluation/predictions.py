"""One pass of a model over the examples of the selected pages. All scores share its results."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from layoutray.batching.examples import Example, ExampleSet
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.answers import Entity
from layoutray.evaluation.capabilities import word_tagger
from layoutray.inference.extractor import Extractor, token_probabilities
from layoutray.tasks import TaskModel
from layoutray.tensors import Batch, Encoded
from layoutray.training import world
from layoutray.training.feed import recipe_feed

PageKey = tuple[str, int]
"""Document id and number of a page."""


@dataclass(frozen=True)
class Predictions:
    """What one pass of a model has given.

    Attributes:
        observations: of the model's task, see `layoutray.tasks.Task.observe`.
        windows: of the pages whose entities are wanted, in order, each with its label probabilities (length, labels).
    """

    loaded: Checkpoint
    observations: list[Any]
    windows: Mapping[PageKey, Sequence[tuple[Example, Tensor]]]

    def entities(self, pages: Sequence[Page]) -> list[tuple[Entity, ...]]:
        """Entities of each page, as `Extractor.extract` finds them.

        The model runs again only for pages that `windows` lacks, for example because their annotation is invalid.
        """
        kept = [self.windows.get((page.doc_id, page.number)) for page in pages]
        missing = [page for page, windows in zip(pages, kept, strict=True) if windows is None]
        device = world.single_process().device
        extracted = iter(Extractor(self.loaded, self.loaded.recipe.name, device).extract(missing) if missing else ())
        task, labels = word_tagger(self.loaded), self.loaded.labels
        return [
            next(extracted) if windows is None else task.answer(page, windows, labels)
            for page, windows in zip(pages, kept, strict=True)
        ]


class _OneForwardPass(TaskModel):
    """A model that computes the scores of a batch once and returns them again for the same batch."""

    def __init__(self, model: TaskModel) -> None:
        super().__init__(model.encoder, model.head)
        self._latest: tuple[Batch, tuple[Encoded, Tensor]] | None = None

    def scores(self, batch: Batch) -> tuple[Encoded, Tensor]:
        if self._latest is None or self._latest[0] is not batch:
            self._latest = batch, super().scores(batch)
        return self._latest[1]


@torch.inference_mode()
def predict(loaded: Checkpoint, examples: ExampleSet, wants_entities: Callable[[PageKey], bool]) -> Predictions:
    """Run the model of `loaded` once over `examples`, and keep label probabilities of pages with `wants_entities`."""
    device = world.single_process().device
    task, feed = loaded.recipe.task, recipe_feed(loaded.recipe, loaded.tokenizer, examples)
    model = _OneForwardPass(loaded.model.to(device).eval())
    observations: list[Any] = []
    windows: dict[PageKey, dict[int, tuple[Example, Tensor]]] = defaultdict(dict)
    ambiguous = set[PageKey]()  # pages that several data sets hold, so that their windows cannot be told apart
    for part in feed.evaluation(rank=0, size=1):
        batch = part.batch.to(device)
        observations += task.observe(model, batch, part.examples)
        wanted = [wants_entities((example.doc_id, example.page)) for example in part.examples]
        if any(wanted):
            probabilities = token_probabilities(*model.scores(batch), part.examples, loaded.temperature)
            for example, of_tokens, keep in zip(part.examples, probabilities, wanted, strict=True):
                if keep:
                    of_page = windows[example.doc_id, example.page]
                    if example.window in of_page:
                        ambiguous.add((example.doc_id, example.page))
                    of_page[example.window] = example, of_tokens
    in_order = {
        key: [of_page[number] for number in sorted(of_page)] for key, of_page in windows.items() if key not in ambiguous
    }
    return Predictions(loaded, observations, in_order)
