"""Find the fields of which only the names are given: one model answers any names, in the languages that it has learned.

The encoder reads the page, and the name of each field as a window of its own, without places. The score of tag part
p ∈ {B, I, E, S} of field f at a word with state h is

    h · (W_p e(f) + c_p) + b_p

e(f) is the mean of the states of the name's tokens, scaled to length 1. The score of O is an affine function of h. With
the names given, these are the rows of an ordinary output layer: `FieldsByName.output_rows` computes them once, and the
model answers and learns on as one of task `entities_bioes`. A tag is a name too, so that no second head learns tags.

A window is asked only for kinds that its documents annotate: on a receipt whose company is not annotated, the company's
words are not outside of it. The recipe names the kinds by the set of documents that annotates them, and a window
belongs to the sets of its entities. It is asked for a random part of the kinds of these sets, each under one of its
wordings; words of the other kinds are outside. Kinds that stand in the batch are asked for more often (in two thirds of
the batches, others in one third), and the others teach that a field can be absent. A window without entities is asked
for nothing. If only some kinds of a window are known, it is asked for no other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import Example
from layoutray.batching.windows import cut
from layoutray.document import Page
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE, is_known, split_tag
from layoutray.document.word_graph import no_neighbours
from layoutray.errors import InputError
from layoutray.synthetic.wordings import wordings
from layoutray.tasks import Corruption, ReadsNames, TagsWords, ruled_out
from layoutray.tasks.entities_bioes import EntitiesBioes
from layoutray.tasks.field_names import name_words
from layoutray.tasks.model import TaskModel, targets_of_states
from layoutray.tasks.word_labels import WindowLabels
from layoutray.tensors import Batch, Encoded, Encoder, Names
from layoutray.tokenizer import Tokenizer

PARTS = EntitiesBioes.prefixes
GENERATED = "generated"
"""The set of generated pages, whose kinds and wordings the package has."""

_NOT_ASKED = -1e4
"""Score of the tags of a kind that a window is not asked for."""
_LONGEST_NAME = 64
"""Tokens of a name, at most; the others are not read."""


class NamesHead(nn.Module):
    """W, c, b and the row of O; see the module's docstring."""

    def __init__(self, width: int, num_labels: int, dropout: float) -> None:
        super().__init__()
        self.num_labels = num_labels
        self.dropout = nn.Dropout(dropout)
        self.outside = nn.Linear(width, 1)
        self.parts = nn.Linear(width, len(PARTS) * width)
        self.part_bias = nn.Parameter(torch.zeros(len(PARTS)))

    def rows(self, names: Encoded) -> tuple[Float[Tensor, "rows width"], Float[Tensor, " rows"]]:
        """Weights and biases of an output layer for these names: the row of O, then one for each part of each name."""
        real = names.mask[..., None]
        vectors = functional.normalize(names.states.masked_fill(~real, 0.0).sum(1), dim=-1)
        parts = self.parts(vectors).unflatten(-1, (len(PARTS), -1)).flatten(0, 1)
        weight = torch.cat([self.outside.weight, parts])
        return weight, torch.cat([self.outside.bias, self.part_bias.repeat(len(vectors))])

    def forward(self, encoded: Encoded) -> Float[Tensor, "batch kept labels"]:
        """Raises InputError if the batch names no fields."""
        if encoded.names is None:
            raise InputError("the model answers fields by their names, and none is given; use `layoutray answer`")
        names, states = encoded.names
        scores = functional.linear(self.dropout(encoded.states), *self.rows(states))
        asked = names.asked.repeat_interleave(len(PARTS), 1)[:, None]
        scores = torch.cat([scores[..., :1], scores[..., 1:].masked_fill(~asked, _NOT_ASKED)], -1)
        first = 1 + len(PARTS) * names.kinds
        columns = torch.cat([first.new_zeros(1), (first[:, None] + torch.arange(len(PARTS)).to(first)).flatten()])
        logits = scores.new_full((*scores.shape[:2], self.num_labels), _NOT_ASKED)
        return logits.index_copy(-1, columns, scores)

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        targets = targets_of_states(encoded, batch)
        logits = self(encoded).float()
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum")


@dataclass(frozen=True)
class FieldsByName(EntitiesBioes):
    """See the module's docstring.

    Attributes:
        kinds: wordings of the kinds of tags that a set of documents annotates: set -> kind -> wordings. The set
            `generated` also has the kinds of generated pages, which the package knows. A wording that is the name of
            another kind stands for all wordings of it. Tags of any other kind are outside.
    """

    name: str = "fields_by_name"
    kinds: dict[str, dict[str, list[str]]] = field(default_factory=dict[str, dict[str, list[str]]])

    def __post_init__(self) -> None:
        if self.fields or self.records:
            raise InputError(
                "task fields_by_name learns the kinds of tags in [task.kinds]; "
                "[task.fields] and [task.records] must be empty"
            )
        owners: dict[str, str] = {}
        for name, kinds in self._sets().items():
            for kind, texts in kinds.items():
                if kind in owners:
                    raise InputError(f"{kind} is a kind of task.kinds.{owners[kind]} and of {name}; allowed is one")
                if not (texts and all(map(name_words, texts))):
                    raise InputError(f"task.kinds.{name}.{kind} is {texts}; give at least one wording, with a letter")
                owners[kind] = name

    def label_names(self, tags: Iterable[Sequence[str]]) -> tuple[str, ...]:
        known = self._kinds()
        if not any(split_tag(tag)[1] in known for page in tags for tag in page):
            raise InputError(f"no page has tags of the kinds in [task.kinds]: {', '.join(known)}")
        return self._labels()

    def true_labels(self, page: Page) -> list[str | None]:
        known = self._kinds()
        tags = super().true_labels(page)
        return [OUTSIDE if is_known(tag) and split_tag(tag)[1] not in known else tag for tag in tags]

    def head(self, encoder: Encoder, num_labels: int, dropout: float) -> nn.Module:
        return NamesHead(encoder.width, num_labels, dropout)

    def corruption(self, tokenizer: Tokenizer) -> Corruption:
        """Asks each window for some of the kinds of its sets."""
        sets = self._sets()
        number = {kind: at for at, kinds in enumerate(sets.values()) for kind in kinds}
        set_of = torch.tensor([number[kind] for kind in self._kinds()])
        choices = [*self._kinds().values()]

        def ask(batch: Batch, generator: torch.Generator) -> Batch:
            assert batch.labels is not None, "a window without labels does not tell what it is asked for"
            found = torch.where(batch.labels > 0, (batch.labels - 1) // len(PARTS), -1)
            share = torch.rand((), generator=generator)
            present = torch.isin(torch.arange(len(set_of)), found)
            drawn = torch.rand(len(set_of), generator=generator) < torch.where(present, share.sqrt(), share.square())
            of_window = set_of[found.clamp(min=0)].masked_fill(found < 0, -1)
            asked = drawn & (of_window[..., None] == set_of).any(1)
            not_of = ruled_out.kinds(batch.labels, len(set_of))
            known = not_of.any(1) | (found[..., None] == torch.arange(len(set_of))).any(1)
            asked &= known | ~(batch.labels < IGNORED).any(1, keepdim=True)
            outside = (found >= 0) & ~asked.gather(1, found.clamp(min=0))
            outside |= (batch.labels < IGNORED) & (not_of | ~asked[:, None]).all(-1)
            kinds = asked.any(0).nonzero().squeeze(1)
            if not len(kinds):
                kinds = torch.zeros(1, dtype=torch.long)
            names = [_one_of(choices[kind], generator) for kind in kinds.tolist()]
            windows = collate(name_examples(names, tokenizer), tokenizer.pad_id)
            return replace(
                batch,
                labels=batch.labels.masked_fill(outside, 0).clamp(min=IGNORED),
                names=Names(windows=windows, kinds=kinds, asked=asked[:, kinds]),
            )

        return ask

    def observe(self, model: TaskModel, batch: Batch, examples: Sequence[Example]) -> list[WindowLabels]:
        """Of the kinds that the windows were asked for."""
        assert batch.labels is not None
        targets = batch.labels.cpu().numpy().astype(np.int32)
        asked = [
            replace(example, labels=of_window[: len(example.input_ids)])
            for example, of_window in zip(examples, targets, strict=True)
        ]
        return super().observe(model, batch, asked)

    def summarise(self, observations: Sequence[WindowLabels], labels: Sequence[str]) -> dict[str, float]:
        """As of `entities`. Raises InputError for a model of other kinds than this recipe and this package name."""
        if tuple(labels) != self._labels():
            raise InputError(
                "the model was trained for other kinds than [task.kinds] and this version's generated pages have; "
                "measure the model that `layoutray answer` makes for some fields, or train it again"
            )
        return super().summarise(observations, labels)

    def answering(self, fields: Mapping[str, FieldType]) -> TagsWords:
        return EntitiesBioes(fields=dict(fields))

    @torch.no_grad()
    def output_rows(self, model: TaskModel, tokenizer: Tokenizer, names: Sequence[str]) -> tuple[Tensor, Tensor]:
        windows = collate(name_examples(names, tokenizer), tokenizer.pad_id)
        was_training = model.training
        try:
            return cast(NamesHead, model.head).rows(model.eval().encoded(windows.to(next(model.parameters()).device)))
        finally:
            model.train(was_training)

    def _labels(self) -> tuple[str, ...]:
        return OUTSIDE, *(f"{part}-{kind}" for kind in self._kinds() for part in PARTS)

    def _kinds(self) -> dict[str, Sequence[str]]:
        """The wordings of all kinds, in the order of the labels."""
        return dict(sorted((kind, texts) for kinds in self._sets().values() for kind, texts in kinds.items()))

    def _sets(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Set -> kind -> wordings, those of generated pages included."""
        shipped = {kind: [*chain(*languages.values())] for kind, languages in wordings().items()}
        sets = {**self.kinds, GENERATED: {**shipped, **self.kinds.get(GENERATED, {})}}
        known = {kind: texts for kinds in sets.values() for kind, texts in kinds.items()}
        return {
            name: {kind: [*chain(*(known.get(text, [text]) for text in texts))] for kind, texts in kinds.items()}
            for name, kinds in sets.items()
        }


def name_examples(names: Iterable[str], tokenizer: Tokenizer) -> list[Example]:
    """Each name as a window of words without places."""
    examples: list[Example] = []
    for name in names:
        words = name_words(name)
        boxes = np.zeros((len(words), 4), np.int32)
        window = cut(words, boxes, tokenizer, _LONGEST_NAME, no_neighbours)[0]
        examples.append(
            Example(
                doc_id="",
                page=1,
                window=0,
                input_ids=window.input_ids,
                boxes=window.boxes,
                word_index=window.word_index,
                neighbours=window.neighbours,
                page_size=(1, 1),
                labels=None,
            )
        )
    return examples


def _one_of(texts: Sequence[str], generator: torch.Generator) -> str:
    """One of `texts`; a third of the draws are of the first ninth, which is English in wordings of nine languages."""
    return texts[int(len(texts) * torch.rand((), generator=generator).square())]


TASK: type[ReadsNames] = FieldsByName
