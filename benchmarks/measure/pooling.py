"""Methods that pool n token states to k: time of forward and backward, and similarity to the exact top-k.

As in "Sparsifying Transformer Models with Trainable Representation Pooling" (arXiv:2009.05169), states are uniform in
[−1, 1] and scores in [0, 1].
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.measure import clock
from benchmarks.measure.iterative_topk import iterative_topk, nccs
from layoutray.nn.token_pooling import hard_topk, successive_halving_topk


@dataclass(frozen=True, slots=True)
class PoolingCase:
    """A batch of `batch` documents of `tokens` states of width `width`, each pooled to `keep` states."""

    tokens: int
    keep: int
    width: int
    batch: int


@dataclass(frozen=True, slots=True)
class PoolingResult:
    """One method on one case.

    Attributes:
        seconds: of forward and backward, median over the rounds.
        nccs: similarity of the outputs to the exact top-k, mean over documents; 1 is a perfect match.
    """

    method: str
    seconds: float
    nccs: float


def _halving(states: Tensor, scores: Tensor, k: int) -> Tensor:
    return successive_halving_topk(states, scores, torch.ones_like(scores, dtype=torch.bool), k).states


def _hard(states: Tensor, scores: Tensor, k: int) -> Tensor:
    return hard_topk(states, scores, torch.ones_like(scores, dtype=torch.bool), k).states


def _iterative(states: Tensor, scores: Tensor, k: int) -> Tensor:
    return iterative_topk(states, scores, k)[0]


METHODS: Mapping[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "successive halving": _halving,
    "hard top-k": _hard,
    "iterative": _iterative,
}


def measure_pooling(case: PoolingCase, methods: Sequence[str], rounds: int) -> list[PoolingResult]:
    """Time all methods in each round, so that a change of the machine's speed affects all; the first round is warm-up.

    Raises:
        InputError: when a method cannot pool the case.
    """
    device = clock.device()
    generator = torch.Generator(device).manual_seed(0)
    states = torch.rand(case.batch, case.tokens, case.width, generator=generator, device=device) * 2 - 1
    scores = torch.rand(case.batch, case.tokens, generator=generator, device=device)
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    for _ in range(rounds + 1):
        for method in methods:
            seconds[method].append(
                clock.seconds(lambda pool=METHODS[method]: _train(pool, states, scores, case.keep), device)
            )
    with torch.no_grad():
        exact = _hard(states, scores, case.keep)
        similarity = {
            method: nccs(exact, METHODS[method](states, scores, case.keep)).mean().item() for method in methods
        }
    return [PoolingResult(method, statistics.median(seconds[method][1:]), similarity[method]) for method in methods]


def _train(pool: Callable[[Tensor, Tensor, int], Tensor], states: Tensor, scores: Tensor, k: int) -> None:
    states, scores = states.detach().requires_grad_(), scores.detach().requires_grad_()
    pooled = pool(states, scores, k)
    pooled.backward(torch.ones_like(pooled))
