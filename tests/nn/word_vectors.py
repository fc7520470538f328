"""Checks shared by the tests of embeddings that compute one vector per word."""

import torch
from torch import nn


def words(count: int, length: int = 24) -> tuple[torch.Tensor, torch.Tensor]:
    """Boxes and word numbers of tokens: a special token, two tokens per word, padding."""
    random = torch.Generator().manual_seed(count)
    boxes = torch.rand(1, count, 2, 2, generator=random).sort(dim=2).values.flatten(2)
    index = torch.full((1, length), -1)
    index[0, 1 : 1 + 2 * count] = torch.arange(count).repeat_interleave(2)
    padded = torch.nn.functional.pad(boxes, (0, 0, 1, 0))
    return padded[:, (index[0] + 1)], index


@torch.no_grad()
def check_pieces(embedding: nn.Module, width: int) -> None:
    """Tokens of a word have equal vectors, tokens without a word zeros, and different words different vectors."""
    boxes, index = words(8)
    found = embedding(boxes, index)
    assert found.shape == (1, 24, width)
    assert not found[index < 0].any()
    assert torch.equal(found[0, 1:17:2], found[0, 2:17:2])
    assert len({tuple(row) for row in found[0, 1:17:2].tolist()}) == 8
