"""What Successive Halving Top-k is compared with: the iterative relaxation of top-k, and how near a relaxation comes."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from layoutray.nn.token_pooling import check_k

_TAKEN = -10_000.0
"""Score of what has been chosen: far enough below all others to weigh nothing."""


def iterative_topk(
    states: Float[Tensor, "batch length width"], scores: Float[Tensor, "batch length"], k: int
) -> tuple[Float[Tensor, "batch k width"], Float[Tensor, "batch k"]]:
    """The soft top-k of "A Continuous Relaxation of Beam Search for End-to-End Training" (arXiv:1708.00111): one softmax per output.

    The i-th output is the sum of all states under softmax(−(v − max v)²), after which the maximum is taken out: O(n·k·width).
    Returns states and scores, strongest first. Raises InputError unless 1 ≤ k ≤ length.
    """
    check_k(scores.shape[1], k)
    chosen: list[Tensor] = []
    found: list[Tensor] = []
    for _ in range(k):
        best, place = scores.max(1, keepdim=True)
        weights = (-((scores - best) ** 2)).softmax(1)
        chosen.append(torch.einsum("bn, bnd -> bd", weights, states))
        found.append((weights * scores).sum(1))
        scores = scores.scatter(1, place, _TAKEN)
    return torch.stack(chosen, 1), torch.stack(found, 1)


def nccs(exact: Float[Tensor, "batch k width"], relaxed: Float[Tensor, "batch k width"]) -> Float[Tensor, " batch"]:
    """Normalised Chamfer cosine similarity (arXiv:2009.05169): of each exact output to its nearest relaxed one, averaged; 1 is perfect."""
    return (functional.normalize(exact, dim=-1) @ functional.normalize(relaxed, dim=-1).transpose(1, 2)).amax(2).mean(1)
