"""Tokens for the tests of embeddings that compute one vector per word."""

import torch


def words(count: int, length: int = 24) -> tuple[torch.Tensor, torch.Tensor]:
    """Boxes and word numbers of tokens: a special token, two tokens per word, padding."""
    random = torch.Generator().manual_seed(count)
    boxes = torch.rand(1, count, 2, 2, generator=random).sort(dim=2).values.flatten(2)
    index = torch.full((1, length), -1)
    index[0, 1 : 1 + 2 * count] = torch.arange(count).repeat_interleave(2)
    padded = torch.nn.functional.pad(boxes, (0, 0, 1, 0))
    return padded[:, (index[0] + 1)], index
