"""The iterative relaxation of top-k, a baseline for Successive Halving Top-k, and a similarity to the exact top-k."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from layoutray.nn.token_pooling import check_k

_REMOVED = -10_000.0
"""Score of a token that was already chosen; its softmax weight is 0."""


def iterative_topk(
    states: Float[Tensor, "batch length width"], scores: Float[Tensor, "batch length"], k: int
) -> tuple[Float[Tensor, "batch k width"], Float[Tensor, "batch k"]]:
    """Soft top-k of "A Continuous Relaxation of Beam Search for End-to-End Training" (arXiv:1708.00111).

    The i-th output is the sum of all states with weights softmax(−(v − max v)²), after which the maximum is removed:
    O(n·k·width). Returns states and scores, highest score first. Raises InputError unless 1 ≤ k ≤ length.
    """
    check_k(scores.shape[1], k)
    soft_states: list[Tensor] = []
    soft_scores: list[Tensor] = []
    for _ in range(k):
        best, place = scores.max(1, keepdim=True)
        weights = (-((scores - best) ** 2)).softmax(1)
        soft_states.append(torch.einsum("bn, bnd -> bd", weights, states))
        soft_scores.append((weights * scores).sum(1))
        scores = scores.scatter(1, place, _REMOVED)
    return torch.stack(soft_states, 1), torch.stack(soft_scores, 1)


def nccs(exact: Float[Tensor, "batch k width"], relaxed: Float[Tensor, "batch k width"]) -> Float[Tensor, " batch"]:
    """Normalised Chamfer cosine similarity (arXiv:2009.05169); 1 is a perfect match.

    The mean, over the exact outputs, of the similarity to the nearest relaxed output.
    """
    return (functional.normalize(exact, dim=-1) @ functional.normalize(relaxed, dim=-1).transpose(1, 2)).amax(2).mean(1)
