"""A trained model that generates texts: documents in, texts out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch.nn import functional

from layoutray import checkpoint, devices
from layoutray.batching.collate import collate
from layoutray.batching.examples import Example, unlabelled_document
from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.answers import Copy, TextLine
from layoutray.document.field_type import FieldType
from layoutray.errors import CheckpointError, InputError
from layoutray.inference import interruption
from layoutray.inference.selection import Selection, selections
from layoutray.nn.beam_search import BeamSearchSettings, beam_search
from layoutray.tasks import WritesTexts, fields_of
from layoutray.tasks.text_generation import TextGenerationHead
from layoutray.tensors import Encoded, PoolsTokens

_DOCUMENTS_PER_PASS = 8
"""Bounds the memory of one forward pass."""
NO_SELECTION = "take one that pools, for example a pyramidion with encoder deep_pyramidion"


@dataclass(frozen=True, slots=True)
class Text:
    """The generated text about a document.

    Attributes:
        text: empty for a document without words.
        tokens: length of the document, its special tokens included; 0 for a document without words.
        tokens_read: number of tokens that the model read; less than `tokens` if the document is longer than it takes.
        lines: the lines of `text`, of which there is one at least; none for a document without words.
    """

    text: str
    tokens: int
    tokens_read: int
    lines: tuple[TextLine, ...] = ()


class TextGenerator:
    """Generates texts with a checkpoint's model. Not thread-safe: make one for each process or actor."""

    def __init__(self, loaded: Checkpoint, device: torch.device, beams: int = 1) -> None:
        """`beams`: beam width; 1 is greedy. Raises CheckpointError for a model whose task generates no texts."""
        task = loaded.recipe.task
        if not isinstance(task, WritesTexts):
            raise CheckpointError(
                f"{loaded.recipe.name} is a model of task {task.name}, which generates no texts; "
                "take a model of another task, for example summary"
            )
        self._vocabulary, self._max_length = loaded.tokenizer, loaded.recipe.max_length
        self._find_neighbours = loaded.recipe.find_neighbours
        self.fields: Mapping[str, FieldType] = fields_of(task)
        self._model = loaded.model.to(device)
        self._device = device
        writing = task.writing
        begin_id = self._vocabulary.end_id if writing.begin == "end" else self._vocabulary.start_id
        self._search = BeamSearchSettings(
            start_id=begin_id,
            end_id=self._vocabulary.end_id,
            max_length=writing.max_length,
            min_length=writing.min_length,
            beams=beams,
            no_repeat=writing.no_repeat,
        )
        encoder = self._model.encoder
        self.shows_selection = isinstance(encoder, PoolsTokens) and encoder.has_mixture
        """Whether `selections` can tell which words the model keeps."""
        self.model_id = loaded.recipe.name
        self.model_version = loaded.version

    @classmethod
    def load(cls, folder: str | Path, beams: int = 1, device: torch.device | None = None) -> "TextGenerator":
        """The model in a checkpoint folder, on `device`; by default on the first visible GPU, else the CPU.

        Raises:
            CheckpointError: when the folder is not a checkpoint of a model that generates texts.
        """
        return cls(checkpoint.load(folder), devices.first_visible() if device is None else device, beams)

    def write(self, documents: Sequence[Sequence[Page]]) -> list[Text]:
        """The text about each document; a document is given as its pages in order."""
        prepared = list(map(self._example, documents))
        read = [(example, length) for example, length in prepared if example is not None]
        batches = (read[at : at + _DOCUMENTS_PER_PASS] for at in range(0, len(read), _DOCUMENTS_PER_PASS))
        texts = chain.from_iterable(map(self._texts, batches))
        return [next(texts) if example else Text("", 0, 0) for example, _ in prepared]

    @torch.inference_mode()
    def selections(self, documents: Sequence[Sequence[Page]]) -> list[Selection]:
        """The words of each document that the model keeps. Raises InputError for a model without this information."""
        if not self.shows_selection:
            raise InputError(f"{self.model_id} does not pool tokens by weighted sums; {NO_SELECTION}")
        examples = [example for example, _ in map(self._example, documents)]
        return [
            next(selections(self._encoded([example]), [example.word_index])) if example else Selection(0, 0, ())
            for example in examples
        ]

    def _example(self, pages: Sequence[Page]) -> tuple[Example | None, int]:
        return unlabelled_document(pages, self._vocabulary, self._max_length, self._find_neighbours)

    @torch.inference_mode()
    def _texts(self, documents: Sequence[tuple[Example, int]]) -> list[Text]:
        """The text about each of a batch of documents, which are given with the numbers of all their tokens."""
        interruption.check()
        pad_id, encoded = self._vocabulary.pad_id, self._encoded([example for example, _ in documents])
        decoder = cast(TextGenerationHead, self._model.head).decoder
        hypotheses = beam_search(decoder, encoded, self._search)
        texts = hypotheses.tokens[:, 0]
        previous = functional.pad(texts[:, :-1], (1, 0), value=self._search.start_id)
        sources = decoder.sources(previous, texts, encoded).cpu().numpy()
        best = zip(texts.cpu(), hypotheses.log_probabilities[:, 0].tolist(), sources, documents, strict=True)
        made: list[Text] = []
        for padded, sums, places, (example, length) in best:
            real = padded != pad_id
            ids, copied = padded[real].tolist(), places[real.numpy()]
            words = np.where(copied < 0, -1, example.word_index[copied]).tolist()
            text = self._vocabulary.ids_to_text(ids)
            made.append(Text(text, length, len(example.input_ids), self._lines(ids, sums, words)))
        return made

    def _lines(self, ids: list[int], sums: list[float], words: list[int]) -> tuple[TextLine, ...]:
        """The lines of a text.

        Args:
            sums: log-probabilities of the text up to each token, and of the text with its end.
            words: number of the document's word that each token copies; -1 where it copies none.
        """
        ends = [*(place for place, token in enumerate(ids) if token == self._vocabulary.line_break_id), len(ids)]
        lines: list[TextLine] = []
        begin, before = 0, 0.0
        for end in ends:
            copies = tuple(
                Copy(len(self._vocabulary.ids_to_text(ids[begin : place + 1])), words[place])
                for place in range(begin, end)
                if words[place] >= 0
            )
            probability = math.exp(sums[end] - before)
            lines.append(TextLine(self._vocabulary.ids_to_text(ids[begin:end]), probability, copies))
            begin, before = end + 1, sums[end]
        return tuple(lines)

    def _encoded(self, examples: Sequence[Example]) -> Encoded:
        return self._model.encoded(collate(examples, self._vocabulary.pad_id).to(self._device))
