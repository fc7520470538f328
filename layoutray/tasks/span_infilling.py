"""Span infilling, which pretrains an encoder and its decoder together: some pieces of a document are taken out of it, each of them leaves
one mask token in its place, and the decoder writes them.

Spans and targets are T5's (arXiv:1910.10683, section 3.1.4): 15 % of the tokens, in spans of 3 on average, and the decoder writes what is
missing and nothing else. BART (arXiv:1910.13461) has the whole text written; that takes as many steps as the document has tokens,
thousands of long ones, while the tasks that this prepares for write a text much shorter than what they read. The mask is BART's: the same
token for every span, as vocabularies have no other; where T5 tells spans apart by tokens of their own, here they are the lines of the
text to write, in their order.

The mask token stands where its span begins (its box and its word are those of the span's first token). How long the text to write is
follows from the share that is taken out, not from `writing.max_length`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from layoutray.batching.collate import IGNORED
from layoutray.tasks import Corruption
from layoutray.tasks.writer import Writer
from layoutray.tensors import Batch
from layoutray.tokenizer import Tokenizer

_MEAN_SPAN = 3


@dataclass(frozen=True)
class _Infilling:
    tokenizer: Tokenizer
    share: float

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        assert batch.word_index is not None
        assert batch.neighbours is not None
        hidden = torch.stack([self._hidden(mask, generator) for mask in batch.mask])
        opens = hidden & ~hidden.roll(1, 1)  # the first token is never hidden, nor is the last
        read = batch.mask & (~hidden | opens)
        masked = batch.input_ids.masked_fill(opens, self.tokenizer.mask_id)
        words = [_left(*row) for row in zip(batch.word_index, batch.neighbours, read, strict=True)]
        return replace(
            batch,
            input_ids=_padded([ids[kept] for ids, kept in zip(masked, read, strict=True)], self.tokenizer.pad_id),
            boxes=_padded([boxes[kept] for boxes, kept in zip(batch.boxes, read, strict=True)], 0),
            mask=_padded([kept[kept] for kept in read], False),
            labels=_padded([self._missing(*row) for row in zip(batch.input_ids, hidden, opens, strict=True)], IGNORED),
            word_index=_padded([index for index, _ in words], -1),
            neighbours=_padded([neighbours for _, neighbours in words], -1),
        )

    def _hidden(self, mask: Bool[Tensor, " length"], generator: torch.Generator) -> Bool[Tensor, " length"]:
        """Between the first and the last token of a document."""
        hidden = torch.zeros_like(mask)
        inside = int(mask.sum()) - 2
        hidden[1 : inside + 1] = spans(inside, self.share, generator)
        return hidden

    def _missing(
        self, ids: Int[Tensor, " length"], hidden: Bool[Tensor, " length"], opens: Bool[Tensor, " length"]
    ) -> Int[Tensor, " targets"]:
        """The hidden tokens, a line for each span, and the end."""
        gone, begins = ids[hidden], opens[hidden]
        lines = torch.stack([torch.full_like(gone, self.tokenizer.start_id), gone], 1)[
            torch.stack([begins, torch.ones_like(begins)], 1)
        ]
        return torch.cat([lines[1:], ids.new_tensor([self.tokenizer.end_id])])


def spans(length: int, share: float, generator: torch.Generator) -> Bool[Tensor, " length"]:
    """True on about `share` of the tokens, at least on one and never on all, in spans with something left between them."""
    gone = min(max(round(length * share), 1), length - 1)
    if gone < 1:
        return torch.zeros(length, dtype=torch.bool)
    count = min(max(round(gone / _MEAN_SPAN), 1), length - gone)
    lengths = torch.stack([_parts(length - gone, count, generator), _parts(gone, count, generator)], 1)
    return torch.tensor([False, True]).repeat(count).repeat_interleave(lengths.flatten())


def _parts(total: int, count: int, generator: torch.Generator) -> Int[Tensor, " count"]:
    """`total` as the sum of so many numbers above 0; every way to do that is equally likely."""
    borders = torch.randperm(total - 1, generator=generator)[: count - 1].sort().values + 1
    return torch.diff(borders, prepend=torch.tensor([0]), append=torch.tensor([total]))


def _left(
    word_index: Int[Tensor, " length"], neighbours: Int[Tensor, "words 8"], read: Bool[Tensor, " length"]
) -> tuple[Int[Tensor, " read"], Int[Tensor, "left 8"]]:
    """The words of the tokens that are read, and the neighbours of these words, both counted anew; a word that is gone is nobody's."""
    left = word_index[read & (word_index >= 0)].unique()
    number = left.new_full((len(neighbours) + 1,), -1)  # one more, for the -1 of tokens without a word
    number[left] = torch.arange(len(left))
    return number[word_index[read]], number[neighbours[left]]


def _padded(rows: Sequence[Tensor], fill: float) -> Tensor:
    return pad_sequence(list(rows), batch_first=True, padding_value=fill)


class SpanInfilling(Writer):
    """See the module's docstring."""

    name = "span_infilling"

    def corruption(self, tokenizer: Tokenizer, mask_share: float) -> Corruption:
        return _Infilling(tokenizer, mask_share)


TASK = SpanInfilling()
