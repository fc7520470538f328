"""DocPolarBERT equals the formulas of its docstring, written again as loops over pairs of tokens."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from layoutray.architectures.docpolarbert import ARCHITECTURE, DISTANCES, DocPolarBert, DocPolarBertConfig
from layoutray.tensors import Batch
from tests.architectures.contract import CONTRACT, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
BERT = replace(TINY, core="bert", polar_bias="scaled", segments=2, norm_epsilon=1e-12)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_a_bert_keeps(promise, tmp_path: Path) -> None:
    promise(ARCHITECTURE, BERT, tmp_path)


def drawn(config: DocPolarBertConfig) -> Any:
    """An encoder with random weights in every parameter, biases included."""
    encoder = build(ARCHITECTURE, config).eval()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(8)), alpha=0.1)
    return encoder


def bucket_and_sector(query: list[int], key: list[int]) -> tuple[int, int]:
    """Where the centre of one box lies, seen from that of another."""
    right = (key[0] + key[2]) / 2 - (query[0] + query[2]) / 2
    down = (key[1] + key[3]) / 2 - (query[1] + query[3]) / 2
    bucket = sum(math.hypot(right, down) >= border for border in DISTANCES)
    if right == down == 0:
        return bucket, 16
    degrees = math.degrees(math.atan2(down, right)) % 360
    return bucket, int((degrees + 11.25) // 22.5) % 16


def attention_by_pairs(layer: Any, encoder: DocPolarBert, states: Tensor, boxes: list[list[int]]) -> Tensor:
    """The context of one window: for each head and query, a weighted sum of values."""
    size = states.shape[1] // layer.heads
    query, key, value = (
        part(states).unflatten(1, (layer.heads, size)) for part in (layer.query, layer.key, layer.value)
    )
    context = torch.zeros_like(query)
    for head in range(layer.heads):
        for i in range(len(boxes)):
            scores = []
            for j in range(len(boxes)):
                bucket, sector = bucket_and_sector(boxes[i], boxes[j])
                bias = (
                    encoder.polar_bias.distance.weight[bucket, head] + encoder.polar_bias.direction.weight[sector, head]
                )
                scores.append(query[i, head] @ key[j, head] / math.sqrt(size) + encoder.polar_bias.scale * bias)
            context[i, head] = torch.stack(scores).softmax(0) @ value[:, head]
    return layer.output(context.flatten(1))


def states_by_formula(encoder: DocPolarBert, ids: Tensor, boxes: list[list[int]]) -> Tensor:
    """The states of one window without padding."""
    first = encoder.first_position
    text = encoder.word_embedding.weight[ids] + encoder.segment_embedding.weight[0]
    states = encoder.norm(text + encoder.position_embedding.weight[first : first + len(ids)])
    for layer in encoder.layers:
        parts: Any = layer
        states = parts.join.norm(states + attention_by_pairs(parts.attention, encoder, states, boxes))
        inner = functional.gelu(parts.feed_forward.expand(states))
        states = parts.feed_forward.join.norm(states + parts.feed_forward.contract(inner))
    return states


def page_like() -> Batch:
    """Windows whose boxes reach from 0 to 1000; some share a place, some stand exactly right, below or diagonal."""
    batch = random_batch(20)
    boxes = batch.boxes.clone()
    boxes[0, 0] = boxes[0, 1] = torch.tensor([0, 0, 0, 0])
    boxes[0, 2] = torch.tensor([1000, 1000, 1000, 1000])
    for number, (right, down) in enumerate([(0, 0), (100, 0), (0, 100), (-100, 0), (0, -100), (54, 0), (70, 70)]):
        boxes[1, number] = torch.tensor([500 + right, 500 + down, 520 + right, 510 + down])
    return replace(batch, boxes=boxes)


@pytest.mark.parametrize("config", [TINY, BERT])
@torch.no_grad()
def test_it_is_the_formula(config: DocPolarBertConfig) -> None:
    encoder, batch = drawn(config), page_like()
    longer = padded(batch)
    found = encoder(longer).states
    for row in range(2):
        expected = states_by_formula(encoder, batch.input_ids[row], batch.boxes[row].tolist())
        torch.testing.assert_close(found[row, :20], expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_only_relative_places_count() -> None:
    encoder, batch = drawn(TINY), random_batch()
    boxes = batch.boxes // 2
    near, far = replace(batch, boxes=boxes), replace(batch, boxes=boxes + 450)
    torch.testing.assert_close(encoder(far).states, encoder(near).states, atol=1e-6, rtol=0)
    turned = replace(batch, boxes=boxes[..., [1, 0, 3, 2]])
    assert (encoder(turned).states - encoder(near).states).abs().max() > 1e-3


@torch.no_grad()
def test_a_new_one_is_its_text_encoder() -> None:
    encoder, batch = build(ARCHITECTURE, BERT).eval(), random_batch()
    assert torch.equal(encoder(replace(batch, boxes=batch.boxes.flip(1))).states, encoder(batch).states)
