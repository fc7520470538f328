"""DocPolarBERT equals the formulas of its docstring, written again as loops, and outputs of the authors' code."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.plugins.docpolarbert import (
    ARCHITECTURE,
    DocPolarBert,
    DocPolarBertConfig,
    direction_classes,
    distance_classes,
)
from layoutray.tensors import Batch
from tests.architectures.contract import CONTRACT, build, padded, random_batch

TINY = ARCHITECTURE.sizes["tiny"]
BERT = replace(TINY, core="bert", relative_keys="scaled", segments=2, norm_epsilon=1e-12)

Sides = list[int]


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_a_bert_keeps(promise, tmp_path: Path) -> None:
    promise(ARCHITECTURE, BERT, tmp_path)


def drawn(config: DocPolarBertConfig) -> Any:
    """An encoder with random weights in every parameter, tables included."""
    encoder = build(ARCHITECTURE, config).eval()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(8)), alpha=0.1)
    return encoder


def distance(one: Sides, other: Sides) -> float:
    return math.hypot(one[0] + one[2] - other[0] - other[2], one[1] + one[3] - other[1] - other[3]) / 2


def has_area(box: Sides) -> bool:
    return box[:2] != box[2:]


def borders(boxes: list[Sides]) -> list[float]:
    """Smallest distance, quartiles and largest distance of all pairs, each token with itself among them."""
    placed = [box for box in boxes if has_area(box)]
    every = [distance(one, other) for one in placed for other in placed]
    return np.quantile(every, [0, 0.25, 0.5, 0.75, 1]).tolist()


def direction(query: Sides, key: Sides) -> int:
    """1 right, 2 above, 3 left, 4 below, 5 to 12 sectors, of two tokens."""
    right, up = key[0] + key[2] - query[0] - query[2], query[1] + query[3] - key[1] - key[3]
    if query[2] >= key[0] and key[2] >= query[0] and (up or right >= 0):
        return 2 if up >= 0 else 4
    if query[3] >= key[1] and key[3] >= query[1] and right:
        return 1 if right > 0 else 3
    return 5 + int(math.degrees(math.atan2(up, right)) % 360 // 45)


def vector(encoder: DocPolarBert, boxes: list[Sides], i: int, j: int) -> Tensor:
    """The sum of the vectors of query i and key j, which are added to the key."""
    keys, apart = encoder.relative_keys, j - i
    steps = abs(apart)
    if steps >= 8:
        steps = min(15, 8 + int(math.log(steps / 8) / math.log(128 / 8) * 8))
    summed = keys.sequential.weight[steps + (16 if apart > 0 else 0)]
    if has_area(boxes[i]) and has_area(boxes[j]):
        reached = sum(distance(boxes[i], boxes[j]) > border + 1e-4 for border in borders(boxes))
        summed = summed + keys.distance.weight[min(reached, 4)]
        summed = summed + keys.direction.weight[0 if i == j else direction(boxes[i], boxes[j])]
    elif i == j:
        summed = summed + keys.direction.weight[0]
    return keys.scale * summed


def attention_by_pairs(layer: Any, vectors: list[list[Tensor]], states: Tensor) -> Tensor:
    """The context of one window: for each head and query, a weighted sum of values."""
    size = states.shape[1] // layer.heads
    query, key, value = (
        part(states).unflatten(1, (layer.heads, size)) for part in (layer.query, layer.key, layer.value)
    )
    context = torch.zeros_like(query)
    for head in range(layer.heads):
        for i, row in enumerate(vectors):
            scores = [query[i, head] @ (key[j, head] + added) / math.sqrt(size) for j, added in enumerate(row)]
            context[i, head] = torch.stack(scores).softmax(0) @ value[:, head]
    return layer.output(context.flatten(1))


def states_by_formula(encoder: DocPolarBert, ids: Tensor, boxes: list[Sides]) -> Tensor:
    """The states of one window without padding."""
    first, length = encoder.first_position, len(ids)
    text = encoder.word_embedding.weight[ids] + encoder.segment_embedding.weight[0]
    states = encoder.norm(text + encoder.position_embedding.weight[first : first + length])
    vectors = [[vector(encoder, boxes, i, j) for j in range(length)] for i in range(length)]
    for layer in encoder.layers:
        parts: Any = layer
        states = parts.join.norm(states + attention_by_pairs(parts.attention, vectors, states))
        inner = functional.gelu(parts.feed_forward.expand(states))
        states = parts.feed_forward.join.norm(states + parts.feed_forward.contract(inner))
    return states


def page_like() -> Batch:
    """Windows with special tokens; some boxes share a place, a line or a column, some stand exactly diagonal."""
    batch = random_batch(20)
    boxes = batch.boxes.clone()
    boxes[:, 0] = boxes[:, 19] = 0
    for number, (right, down) in enumerate([(0, 0), (0, 0), (100, 0), (0, 100), (-100, 0), (0, -100), (70, 70)]):
        boxes[1, number + 1] = torch.tensor([500 + right, 500 + down, 520 + right, 520 + down])
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


PAGE = [
    [0, 0, 0, 0],
    [100, 100, 180, 120],
    [100, 100, 180, 120],
    [300, 105, 360, 125],
    [110, 300, 170, 320],
    [500, 40, 560, 60],
    [600, 700, 640, 715],
    [20, 400, 60, 412],
    [1000, 1000, 1000, 1000],
]
"""Between the special tokens of the authors' windows: two tokens of a word, words beside, below and diagonal."""
THEIR_DISTANCES = ["0012342", "0012342", "1102243", "2220341", "3323043", "4444404", "2231340"]
THEIR_DIRECTIONS = [
    [0, 2, 1, 4, 5, 11, 10],
    [2, 0, 1, 4, 5, 11, 10],
    [3, 3, 0, 10, 5, 11, 10],
    [2, 2, 6, 0, 5, 12, 9],
    [9, 9, 9, 9, 0, 11, 9],
    [7, 7, 7, 8, 7, 0, 8],
    [6, 6, 6, 5, 5, 12, 0],
]
THEIR_STATES = [
    [-0.8114, 0.1006],
    [-0.9561, -0.0620],
    [-1.0746, -0.1810],
    [-0.8443, -0.0423],
    [-1.0632, -0.2328],
    [-0.9063, -0.3014],
    [-1.0644, -0.2390],
    [-1.0739, -0.1575],
    [-1.0866, -0.5105],
]
"""Classes of the words, and the first two numbers of each state, by the operations of the authors' code."""


@torch.no_grad()
def test_it_is_the_authors_code() -> None:
    boxes = torch.tensor([PAGE])
    words = slice(1, 8)
    assert distance_classes(boxes)[0, words, words].tolist() == [[*map(int, row)] for row in THEIR_DISTANCES]
    assert direction_classes(boxes)[0, words, words].tolist() == THEIR_DIRECTIONS
    config = DocPolarBertConfig(core="bert", hidden=8, layers=2, heads=2, feed_forward=16, max_length=16, segments=2)
    encoder = ARCHITECTURE.build(config, vocab_size=12, pad_id=1).eval()
    for number, (name, parameter) in enumerate(sorted(encoder.named_parameters())):
        values = (torch.arange(parameter.numel()) * 7919 + number * 104729) % 1009 / 1009 - 0.5
        parameter.copy_(values.view_as(parameter) + name.endswith("norm.weight"))
    ids = torch.tensor([[0, 3, 4, 5, 6, 7, 8, 9, 2]])
    states = encoder(Batch(input_ids=ids, boxes=boxes, mask=torch.ones_like(ids, dtype=torch.bool))).states
    torch.testing.assert_close(states[0, :, :2], torch.tensor(THEIR_STATES), atol=1e-4, rtol=0)


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
