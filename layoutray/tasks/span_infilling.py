"""Span infilling: pretrain an encoder and its decoder together.

Spans of a document's tokens are removed. Each span leaves one mask token, and the decoder generates the removed tokens.

Spans and targets are those of T5 (arXiv:1910.10683, section 3.1.4): 15 % of the tokens, in spans of 3 tokens on
average, and the decoder generates only what was removed. In BART (arXiv:1910.13461) the decoder generates the whole
text, which takes one step for each token of the document. Documents have thousands of tokens, and the tasks that follow
this pretraining generate much shorter texts. As in BART, every span has the same mask token: vocabularies have only
one. T5 marks each span by a token of its own; here each span is one line of the text to generate, in their order.

A mask token has the box and the word of the first token of its span. The length of the text to generate follows from
`mask_share`; `writing.max_length` does not limit it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from layoutray.batching.collate import IGNORED
from layoutray.tasks import Corruption, HasDecoder
from layoutray.tasks.text_generation import TextGeneration
from layoutray.tasks.word_prediction import check_mask_share
from layoutray.tensors import Batch
from layoutray.tokenizer import Tokenizer

_MEAN_SPAN = 3


def spans(length: int, share: float, generator: torch.Generator) -> Bool[Tensor, " length"]:
    """True on about `share` of the tokens, in separate spans: at least on one token, and never on all."""
    removed = min(max(round(length * share), 1), length - 1)
    if removed < 1:
        return torch.zeros(length, dtype=torch.bool)
    count = min(max(round(removed / _MEAN_SPAN), 1), length - removed)
    lengths = torch.stack([_parts(length - removed, count, generator), _parts(removed, count, generator)], 1)
    return torch.tensor([False, True]).repeat(count).repeat_interleave(lengths.flatten())


def _parts(total: int, count: int, generator: torch.Generator) -> Int[Tensor, " count"]:
    """`count` positive integers whose sum is `total`; every such sequence is equally likely."""
    borders = torch.randperm(total - 1, generator=generator)[: count - 1].sort().values + 1
    return torch.diff(borders, prepend=torch.tensor([0]), append=torch.tensor([total]))


def _renumbered(
    word_index: Int[Tensor, " length"], neighbours: Int[Tensor, "words 8"], kept: Bool[Tensor, " length"]
) -> tuple[Int[Tensor, " kept"], Int[Tensor, "remaining 8"]]:
    """The word of each kept token, and the neighbours of the remaining words, both renumbered from 0.

    Removed words are taken out of all lists of neighbours: -1 takes their place.
    """
    remaining = word_index[kept & (word_index >= 0)].unique()
    number = remaining.new_full((len(neighbours) + 1,), -1)  # the last entry is for tokens without a word (index -1)
    number[remaining] = torch.arange(len(remaining))
    return number[word_index[kept]], number[neighbours[remaining]]


def _padded(rows: Sequence[Tensor], fill: float) -> Tensor:
    return pad_sequence(list(rows), batch_first=True, padding_value=fill)


@dataclass(frozen=True)
class SpanInfilling(TextGeneration):
    """See the module's docstring. `mask_share`: share of the non-special tokens to remove."""

    name: str = "span_infilling"
    mask_share: float = 0.15

    def __post_init__(self) -> None:
        check_mask_share(self.mask_share)

    def corruption(self, tokenizer: Tokenizer) -> Corruption:
        def text_of(
            ids: Int[Tensor, " length"], hidden: Bool[Tensor, " length"], starts: Bool[Tensor, " length"]
        ) -> Int[Tensor, " targets"]:
            """The text to generate: the hidden tokens of each span, separated by start tokens, and the end token."""
            removed, first = ids[hidden], starts[hidden]
            lines = torch.stack([torch.full_like(removed, tokenizer.start_id), removed], 1)
            text = lines[torch.stack([first, torch.ones_like(first)], 1)]
            return torch.cat([text[1:], ids.new_tensor([tokenizer.end_id])])

        def remove_spans(batch: Batch, generator: torch.Generator) -> Batch:
            assert batch.word_index is not None
            assert batch.neighbours is not None
            hidden = torch.zeros_like(batch.mask)
            for row, length in zip(hidden, batch.mask.sum(1).tolist(), strict=True):
                row[1 : length - 1] = spans(length - 2, self.mask_share, generator)  # special tokens at both ends stay
            starts = hidden & ~hidden.roll(1, 1)  # neither the first nor the last token of a document is ever hidden
            kept = batch.mask & (~hidden | starts)
            masked = batch.input_ids.masked_fill(starts, tokenizer.mask_id)
            words = [_renumbered(*row) for row in zip(batch.word_index, batch.neighbours, kept, strict=True)]
            texts = [text_of(*row) for row in zip(batch.input_ids, hidden, starts, strict=True)]
            return replace(
                batch,
                input_ids=_padded([ids[row] for ids, row in zip(masked, kept, strict=True)], tokenizer.pad_id),
                boxes=_padded([boxes[row] for boxes, row in zip(batch.boxes, kept, strict=True)], 0),
                mask=_padded([row[row] for row in kept], False),
                labels=_padded(texts, IGNORED),
                word_index=_padded([index for index, _ in words], -1),
                neighbours=_padded([neighbours for _, neighbours in words], -1),
            )

        return remove_spans


TASK: type[HasDecoder] = SpanInfilling
