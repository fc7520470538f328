"""MVLM: BERT's masking on words, boxes left alone, and a loss that decodes only what is asked."""

import math

import pytest
import torch
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.errors import InputError
from layoutray.tasks import TagsWords, TaskModel, WritesTexts
from layoutray.tasks.masked_lm import MaskedLanguageModel, MaskedLanguageModelHead
from layoutray.tensors import Batch, Encoded
from tests.jobs import vocabulary

TASK = MaskedLanguageModel()
VOCABULARY = vocabulary()
WORDS = torch.arange(5, VOCABULARY.vocab_size)


def text(rows: int, length: int) -> Batch:
    """Windows of words between special tokens, the last tenth padding."""
    generator = torch.Generator().manual_seed(0)
    ids = WORDS[torch.randint(len(WORDS), (rows, length), generator=generator)]
    ids[:, 0], ids[:, -1] = VOCABULARY.start_id, VOCABULARY.end_id
    ids[:, length - length // 10 :] = VOCABULARY.pad_id
    ids[:, 1] = VOCABULARY.unknown_id
    return Batch(input_ids=ids, boxes=torch.zeros(rows, length, 4, dtype=torch.long), mask=ids != VOCABULARY.pad_id)


def masked(batch: Batch, seed: int, share: float = 0.15) -> Batch:
    return MaskedLanguageModel(mask_share=share).corruption(VOCABULARY)(batch, torch.Generator().manual_seed(seed))


def test_shares_are_berts() -> None:
    batch = text(400, 500)
    corrupted = masked(batch, 1)
    assert corrupted.labels is not None
    target = corrupted.labels != IGNORED
    ordinary = ~torch.isin(batch.input_ids, torch.tensor(VOCABULARY.special_ids))
    count = int(target.sum())
    assert count / int(ordinary.sum()) == pytest.approx(0.15, abs=0.003)
    became_mask = (corrupted.input_ids == VOCABULARY.mask_id) & target
    unchanged = (corrupted.input_ids == batch.input_ids) & target
    drawn_mask, drawn_same = 0.1 / VOCABULARY.vocab_size, 0.1 / VOCABULARY.vocab_size
    assert int(became_mask.sum()) / count == pytest.approx(0.8 + drawn_mask, abs=0.01)
    assert int(unchanged.sum()) / count == pytest.approx(0.1 + drawn_same, abs=0.01)


def test_random_words_come_from_the_whole_vocabulary() -> None:
    batch = text(400, 500)
    corrupted = masked(batch, 2, share=1.0)
    replaced = corrupted.input_ids[
        (corrupted.input_ids != batch.input_ids) & (corrupted.input_ids != VOCABULARY.mask_id)
    ]
    assert len(replaced.unique()) == VOCABULARY.vocab_size - 1


def test_targets_are_the_words_and_all_else_stays() -> None:
    batch = text(40, 50)
    corrupted = masked(batch, 3)
    assert corrupted.labels is not None
    target = corrupted.labels != IGNORED
    assert torch.equal(corrupted.labels[target], batch.input_ids[target])
    assert torch.equal(corrupted.input_ids[~target], batch.input_ids[~target])
    assert not target[torch.isin(batch.input_ids, torch.tensor(VOCABULARY.special_ids))].any()
    assert torch.equal(corrupted.boxes, batch.boxes)


def test_the_generator_decides_the_mask() -> None:
    batch = text(20, 50)
    assert torch.equal(masked(batch, 4).input_ids, masked(batch, 4).input_ids)
    assert not torch.equal(masked(batch, 4).input_ids, masked(batch, 5).input_ids)


class Fixed(torch.nn.Module):
    """An encoder whose states are given, in another order than the tokens'."""

    max_length, norm_epsilon = 512, 1e-12

    def __init__(self, states: torch.Tensor, origin: torch.Tensor) -> None:
        super().__init__()
        self.states, self.origin = states, origin
        self.width = states.shape[-1]
        self.word_embedding = torch.nn.Embedding(VOCABULARY.vocab_size, self.width)

    def forward(self, batch: Batch) -> Encoded:
        return Encoded(states=self.states, mask=batch.mask.gather(1, self.origin), origin=self.origin)


def test_the_loss_equals_decoding_everything() -> None:
    batch = masked(text(3, 30), 6, share=0.3)
    assert batch.labels is not None
    generator = torch.Generator().manual_seed(0)
    origin = torch.stack([torch.randperm(30, generator=generator)[:20] for _ in range(3)])
    encoder = Fixed(torch.randn(3, 20, 16, generator=generator), origin)
    model = TaskModel(encoder, MaskedLanguageModelHead(encoder))
    _, logits = model.scores(batch)
    naive = sum(
        functional.cross_entropy(logits[row, kept], batch.labels[row, origin[row, kept]])
        for row in range(3)
        for kept in range(20)
        if batch.labels[row, origin[row, kept]] != IGNORED
    )
    torch.testing.assert_close(model(batch), naive, atol=1e-4, rtol=1e-6)


def test_the_decoder_is_the_word_embedding() -> None:
    encoder = Fixed(torch.zeros(1, 1, 8), torch.zeros(1, 1, dtype=torch.long))
    assert MaskedLanguageModelHead(encoder).decoder.weight is encoder.word_embedding.weight


def test_perplexity_weighs_words_not_batches() -> None:
    summary = TASK.summarise([(2.0, 1), (4.0, 5)], ())
    assert summary == {"loss": 1.0, "perplexity": pytest.approx(math.e), "masked_tokens": 6.0}
    with pytest.raises(InputError, match="no masked tokens"):
        TASK.summarise([(0.0, 0)], ())


def test_the_perplexity_of_a_huge_loss_is_infinite() -> None:
    assert TASK.summarise([(2000.0, 2)], ()) == {"loss": 1000.0, "perplexity": math.inf, "masked_tokens": 2.0}


def test_it_neither_tags_words_nor_writes_texts() -> None:
    assert not isinstance(TASK, TagsWords | WritesTexts)
