"""A trained writer: documents in, texts out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import cast

import torch

from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.batching.examples import Example, unlabelled_document
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.errors import CheckpointError, InputError
from layoutray.nn.beam_search import Search, beam_search
from layoutray.selection import Selection, selections
from layoutray.tasks import WritesTexts, fields_of
from layoutray.tasks.text_generation import TextGenerationHead
from layoutray.tensors import Encoded, Pools

_DOCUMENTS_PER_PASS = 8
"""Bounds the memory of one forward pass."""
NO_SELECTION = "take one that pools, such as a pyramidion with encoder deep_pyramidion"

_WordsAndSums = tuple[list[int], list[float]]
"""A text, and its log-probability up to each of its words and with its end."""


@dataclass(frozen=True, slots=True)
class Text:
    """What was written about a document.

    Attributes:
        tokens: of the document, the special ones included; 0 of one without words, about which nothing is written.
        tokens_read: of these, fewer where the document is longer than the model takes.
        chances: of each line of `text`: the probability that the model writes just this line, its end included, after those before it.
    """

    text: str
    tokens: int
    tokens_read: int
    chances: tuple[float, ...] = ()

    @property
    def lines(self) -> list[tuple[str, float]]:
        """Each line with its probability; none of a document without words."""
        return list(zip(self.text.split("\n"), self.chances, strict=bool(self.tokens)))


class TextGenerator:
    """A checkpoint ready to write. Not thread safe: one per process or actor."""

    def __init__(self, loaded: Checkpoint, device: torch.device, beams: int = 1) -> None:
        """Write with so many `beams`; one is greedy. Raises CheckpointError for a model of a task that writes nothing."""
        task = loaded.recipe.task
        if not isinstance(task, WritesTexts):
            raise CheckpointError(
                f"{loaded.recipe.name} is a model of {task.name}, which writes no texts; take one of a task such as summary"
            )
        self._vocabulary, self._max_length = loaded.tokenizer, loaded.recipe.max_length
        self.fields: Mapping[str, FieldType] = fields_of(task)
        self._model = loaded.model.to(device)
        self._device = device
        writing = task.writing
        begin_id = self._vocabulary.end_id if writing.begin == "end" else self._vocabulary.start_id
        self._search = Search(
            begin_id,
            self._vocabulary.end_id,
            writing.max_length,
            writing.min_length,
            beams=beams,
            no_repeat=writing.no_repeat,
        )
        encoder = self._model.encoder
        self.shows_selection = isinstance(encoder, Pools) and encoder.mixes
        """Whether `selections` can say which words the model keeps."""
        self.model_id = loaded.recipe.name
        self.model_version = loaded.version

    @classmethod
    def load(cls, folder: str | Path, beams: int = 1) -> "TextGenerator":
        """The writer in a checkpoint folder, on the first GPU where there is one.

        Raises:
            CheckpointError: when the folder is no checkpoint, or not of a model that writes.
        """
        return cls(checkpoint.load(folder), torch.device("cuda" if torch.cuda.is_available() else "cpu"), beams)

    def write(self, documents: Sequence[Sequence[Page]]) -> list[Text]:
        """The text about each document, which is given as its pages in order."""
        made = [unlabelled_document(pages, self._vocabulary, self._max_length) for pages in documents]
        examples = [example for example, _ in made if example is not None]
        texts = self._texts(examples)
        return [
            self._text(*next(texts), length, len(example.input_ids)) if example else Text("", 0, 0)
            for example, length in made
        ]

    @torch.inference_mode()
    def selections(self, documents: Sequence[Sequence[Page]]) -> list[Selection]:
        """What the model keeps of each document, to write from; nothing of one without words.

        Raises:
            InputError: for a model that does not show it.
        """
        if not self.shows_selection:
            raise InputError(f"{self.model_id} keeps all tokens, or no weighted sums of them: {NO_SELECTION}")
        examples = [unlabelled_document(pages, self._vocabulary, self._max_length)[0] for pages in documents]
        return [
            next(selections(self._encoded([one]), [one.word_index])) if one else Selection(0, 0, ()) for one in examples
        ]

    def _texts(self, examples: Sequence[Example]) -> Iterator[_WordsAndSums]:
        for at in range(0, len(examples), _DOCUMENTS_PER_PASS):
            yield from self._texts_of_batch(examples[at : at + _DOCUMENTS_PER_PASS])

    @torch.inference_mode()
    def _texts_of_batch(self, examples: Sequence[Example]) -> list[_WordsAndSums]:
        pad_id, encoded = self._vocabulary.pad_id, self._encoded(examples)
        found = beam_search(cast(TextGenerationHead, self._model.head).decoder, encoded, self._search)
        best = zip(found.words[:, 0].cpu(), found.sums[:, 0].tolist(), strict=True)
        return [(words[words != pad_id].tolist(), sums) for words, sums in best]

    def _text(self, words: list[int], sums: list[float], tokens: int, tokens_read: int) -> Text:
        ends = [*(place for place, word in enumerate(words) if word == self._vocabulary.start_id), len(words)]
        chances = (math.exp(after - before) for before, after in pairwise([0.0, *(sums[end] for end in ends)]))
        return Text(self._vocabulary.ids_to_text(words), tokens, tokens_read, tuple(chances))

    def _encoded(self, examples: Sequence[Example]) -> Encoded:
        return self._model.encoded(collate(examples, self._vocabulary.pad_id).to(self._device))
