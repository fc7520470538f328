"""The contract that every architecture fulfils: one check per function, for an architecture and a configuration."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from layoutray.architectures import Architecture
from layoutray.document.word_graph import no_neighbours
from layoutray.errors import InputError
from layoutray.tasks import TaskModel
from layoutray.tasks.word_labels import TokenClassificationHead
from layoutray.tensors import Batch

VOCABULARY, PAD, NUM_LABELS, PADDING = 200, 0, 5, 7


def build(architecture: Architecture[Any], config: Any) -> Any:
    torch.manual_seed(0)
    return architecture.build(config, vocab_size=VOCABULARY, pad_id=PAD)


def random_batch(length: int = 24) -> Batch:
    """Two full windows with boxes in order, two tokens a word, each word next to the one before and after it.

    No token occurs twice in a window, so that even models without places can tell them apart.
    """
    generator = torch.Generator().manual_seed(1)
    ids = torch.stack([torch.randperm(VOCABULARY - 1, generator=generator)[:length] + 1 for _ in range(2)])
    corners = torch.randint(0, 900, (2, length, 2), generator=generator)
    sizes = torch.randint(0, 100, (2, length, 2), generator=generator)
    labels = torch.randint(NUM_LABELS, (2, length), generator=generator)
    word_index = (torch.arange(length) // 2).expand(2, length)
    words = torch.arange((length + 1) // 2)
    neighbours = torch.full((2, len(words), 8), -1)
    neighbours[:, :, 0], neighbours[:, :, 1] = words - 1, torch.where(words + 1 < len(words), words + 1, -1)
    boxes, mask = torch.cat([corners, corners + sizes], -1), torch.ones_like(ids, dtype=torch.bool)
    return Batch(
        input_ids=ids,
        boxes=boxes,
        mask=mask,
        labels=labels,
        word_index=word_index,
        neighbours=neighbours,
        page_sizes=torch.tensor([[600, 800], [1000, 400]]),
    )


def padded(batch: Batch, padding: int = PADDING) -> Batch:
    """`batch` with so many tokens of padding on the right, and a word more than any window has."""
    values = {"input_ids": PAD, "boxes": 0, "mask": False, "labels": -100, "word_index": -1, "neighbours": -1}
    added = {"neighbours": 1}
    longer = {name: _extended(getattr(batch, name), added.get(name, padding), value) for name, value in values.items()}
    return replace(batch, **longer)


def first(batch: Batch) -> Batch:
    """The first of its windows alone."""
    return Batch(
        **{field.name: None if (rows := getattr(batch, field.name)) is None else rows[:1] for field in fields(batch)}
    )


def _extended(rows: Tensor | None, count: int, value: int) -> Tensor | None:
    """(batch, length, …) with `count` more of `value`."""
    return None if rows is None else nn.functional.pad(rows, (0, 0) * (rows.ndim - 2) + (0, count), value=value)


@torch.no_grad()
def states_fit_the_declared_width(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder, batch = build(architecture, config).eval(), random_batch()
    encoded = encoder(batch)
    assert encoded.states.shape[-1] == encoder.width == encoder.word_embedding.embedding_dim
    assert encoder.word_embedding.num_embeddings == VOCABULARY
    assert encoded.states.shape[:2] == encoded.mask.shape == encoded.origin.shape
    assert encoder.max_length == config.max_length
    assert ((encoded.origin >= 0) & (encoded.origin < batch.input_ids.shape[1])).all()


@torch.no_grad()
def the_longest_window_fits(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    short = replace(config, max_length=24)
    assert build(architecture, short).eval()(random_batch(24)).states.isfinite().all()


@torch.no_grad()
def a_longer_window_is_refused(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder = build(architecture, replace(config, max_length=24))
    model = TaskModel(encoder, TokenClassificationHead(encoder.width, NUM_LABELS, 0.0))
    with pytest.raises(InputError, match="a window has 25 tokens, but the model takes at most 24"):
        model(random_batch(25))


@torch.no_grad()
def a_page_with_one_word_and_one_with_none_give_numbers(
    architecture: Architecture[Any], config: Any, folder: Path
) -> None:
    encoder, batch = build(architecture, config).eval(), random_batch(3)
    assert encoder(batch).states.isfinite().all()
    nothing = replace(padded(batch), mask=torch.zeros(2, 3 + PADDING, dtype=torch.bool))
    assert encoder(nothing).states.isfinite().all()


@torch.no_grad()
def a_word_graph_that_is_not_made_does_not_matter(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    """FormNet's variant without graph layers ignores the graph too, which is made for all variants."""
    encoder, batch = build(architecture, config).eval(), random_batch()
    assert batch.neighbours is not None
    without = replace(batch, neighbours=torch.full_like(batch.neighbours, -1))
    ignored = torch.equal(encoder(batch).states, encoder(without).states)
    assert ignored or architecture.find_neighbours is not no_neighbours


@torch.no_grad()
def padding_does_not_leak(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder, batch = build(architecture, config).eval(), random_batch()
    alone, beside_longer = encoder(batch), encoder(padded(batch))
    torch.testing.assert_close(beside_longer.states[beside_longer.mask], alone.states[alone.mask], atol=1e-5, rtol=0)
    torch.testing.assert_close(beside_longer.origin[beside_longer.mask], alone.origin[alone.mask])


@torch.no_grad()
def documents_do_not_see_each_other(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder, batch = build(architecture, config).eval(), random_batch()
    torch.testing.assert_close(encoder(first(batch)).states[0], encoder(batch).states[0], atol=1e-5, rtol=0)


def every_parameter_gets_a_gradient(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder = build(architecture, config)
    # Not the plain sum: through a closing LayerNorm its gradient is zero.
    encoder(random_batch()).states.pow(3).sum().backward()
    trained = {name: parameter for name, parameter in encoder.named_parameters() if parameter.requires_grad}
    assert [name for name, parameter in trained.items() if parameter.grad is None or not parameter.grad.any()] == []


@torch.no_grad()
def saving_and_loading_is_exact(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder, batch = build(architecture, config).eval(), random_batch()
    save_file(encoder.state_dict(), folder / "weights.safetensors")
    torch.manual_seed(99)
    other = architecture.build(config, vocab_size=VOCABULARY, pad_id=PAD).eval()
    assert not torch.equal(other(batch).states, encoder(batch).states)
    other.load_state_dict(load_file(folder / "weights.safetensors"))
    assert torch.equal(other(batch).states, encoder(batch).states)


def the_seed_decides_the_weights(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    first, second = build(architecture, config).state_dict(), build(architecture, config).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def one_batch_can_be_learned_by_heart(architecture: Architecture[Any], config: Any, folder: Path) -> None:
    encoder, batch = build(architecture, replace(config, dropout=0.0, attention_dropout=0.0)), random_batch()
    head = TokenClassificationHead(encoder.width, NUM_LABELS, 0.0)
    architecture.initialise(head, encoder.width)
    model = TaskModel(encoder, head)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(60):
        optimizer.zero_grad()
        loss = model(batch) / batch.input_ids.numel()
        if loss.item() < 0.05:
            return
        loss.backward()
        optimizer.step()
    pytest.fail(f"after 60 steps, the loss is {loss.item()}")


CONTRACT = (
    states_fit_the_declared_width,
    the_longest_window_fits,
    a_longer_window_is_refused,
    a_page_with_one_word_and_one_with_none_give_numbers,
    a_word_graph_that_is_not_made_does_not_matter,
    padding_does_not_leak,
    documents_do_not_see_each_other,
    every_parameter_gets_a_gradient,
    saving_and_loading_is_exact,
    the_seed_decides_the_weights,
    one_batch_can_be_learned_by_heart,
)
