"""Pooling n token states to k: Successive Halving Top-k, hard top-k, mean and maximum over windows.

Successive Halving Top-k is the operator Γ(E, v, k) of "Sparsifying Transformer Models with Trainable Representation
Pooling" (ACL 2022, arXiv:2009.05169): log₂(n/k) rounds of a tournament. In each round, tokens are sorted by score and
paired: the strongest with the weakest, the second with the last but one, and so on. Each pair becomes one token: a
mixture by a softmax so peaked that the stronger token nearly replaces the weaker one. Both states and all scores get
gradients.

The mixtures depend on scores alone: each output is a weighted sum of n/k tokens. The states are therefore read once, at
the end.

Padding has weight 0: a token paired with padding is unchanged. A document is pooled as if it were padded, by itself, to
the next multiple of n/k: r real tokens give ⌈r·k/n⌉ real outputs, whatever length the batch is padded to. Outputs
without real tokens are zero vectors.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from layoutray.errors import InputError
from layoutray.tensors import Mixture

PairingName = Literal["mirrored", "parallel", "neighbours"]

PADDING_SCORE = 1e-5
"""Score of padding in the release: below all other scores, which are sigmoids plus this number."""


class Pooled(NamedTuple):
    """The outputs of pooling.

    Attributes:
        states: one vector per output; zeros where `mask` is False.
        scores: mixed like the states, 0 where `mask` is False; 1 for windows, which have no scores.
        mask: True on outputs of real tokens; these come first.
        origin: index of the token that represents each output: its strongest token, or the first of a window. If scores
            are close, another token can have a larger weight.
        mixture: the tokens and weights of each output; None for maxima, which are no weighted sums.
    """

    states: Float[Tensor, "batch kept width"]
    scores: Float[Tensor, "batch kept"]
    mask: Bool[Tensor, "batch kept"]
    origin: Int[Tensor, "batch kept"]
    mixture: Mixture | None


@dataclass(frozen=True)
class HalvingSettings:
    """Rules of the tournament; the defaults are the paper's.

    Attributes:
        base: b of the softmax over bᵛ, above 1. It is 20 in the release; the paper prints a plain softmax (Eq. 6) and
            calls it peaked.
        pairing: pairs the strongest token with the weakest (`mirrored`), with the first of the weaker half
            (`parallel`), or each token with the next one (`neighbours`, which is not in the paper).
        order: order of outputs: `document`, by their strongest token, or `score`, the release's default. `neighbours`
            are always in the order of the document.
        padding: `masked` as in the module's docstring. With `reference_parity`, as in the release, padding takes part
            as zero vectors of score 1e-5, and if n/k is no power of two there are more than k outputs.
    """

    base: float = 20.0
    pairing: PairingName = "mirrored"
    order: Literal["document", "score"] = "document"
    padding: Literal["masked", "reference_parity"] = "masked"

    def __post_init__(self) -> None:
        if self.base <= 1:
            raise InputError(f"base is {self.base}; it must be above 1, otherwise the weaker token of a pair wins")


def successive_halving_topk(
    states: Float[Tensor, "batch length width"],
    scores: Float[Tensor, "batch length"],
    mask: Bool[Tensor, "batch length"],
    k: int,
    settings: HalvingSettings = HalvingSettings(),
) -> Pooled:
    """The operator Γ; its states have gradients for all scores. Tokens of equal score are ranked by position.

    Raises:
        InputError: if length ≠ k·2ʳ (with `reference_parity`: if length cannot be halved ⌊log₂(length/k)⌋ times).
    """
    rounds = _num_rounds(scores.shape[1], k, settings)
    if settings.padding == "reference_parity":
        states, scores = states.masked_fill(~mask[..., None], 0), scores.masked_fill(~mask, PADDING_SCORE)
        mask = torch.ones_like(mask)
    tournament = _Tournament.start(scores, mask, 2**rounds)
    for _ in range(rounds):
        tournament = tournament.next_round(settings)
    return Pooled(
        _weighted_sums(states, tournament.tokens, tournament.weights),
        tournament.scores.masked_fill(~tournament.mask, 0),
        tournament.mask,
        tournament.tokens[..., 0],
        Mixture(tournament.tokens, tournament.weights.detach()),
    )


def hard_topk(
    states: Float[Tensor, "batch length width"],
    scores: Float[Tensor, "batch length"],
    mask: Bool[Tensor, "batch length"],
    k: int,
) -> Pooled:
    """The k tokens of highest score in document order. Only kept states get gradients; scores get none.

    Of r real tokens, ⌈r·k/length⌉ are kept. Raises InputError unless 1 ≤ k ≤ length.
    """
    length = scores.shape[1]
    check_k(length, k)
    best = scores.masked_fill(~mask, -math.inf).topk(k).indices
    kept = torch.arange(k, device=best.device) < (mask.sum(1, keepdim=True) * k + length - 1) // length
    positions = best.masked_fill(~kept, length).sort().values
    valid, origin = positions < length, positions.clamp(max=length - 1)
    best_states = states.gather(1, origin[..., None].expand(-1, -1, states.shape[-1]))
    mixture = Mixture(origin[..., None], valid[..., None].to(scores.dtype))
    return Pooled(
        best_states.masked_fill(~valid[..., None], 0),
        scores.gather(1, origin).masked_fill(~valid, 0),
        valid,
        origin,
        mixture,
    )


def window_pool(
    states: Float[Tensor, "batch length width"],
    mask: Bool[Tensor, "batch length"],
    k: int,
    reduction: Literal["mean", "max"],
) -> Pooled:
    """Mean or maximum over the real tokens of each of k consecutive windows (Appendix A).

    Raises InputError unless k divides the length.
    """
    length = states.shape[1]
    if k < 1 or length % k:
        raise InputError(f"k is {k}; it must be at least 1 and divide the number of tokens, which is {length}")
    real = rearrange(mask, "batch (kept window) -> batch kept window 1", kept=k)
    windows = rearrange(states, "batch (kept window) width -> batch kept window width", kept=k)
    valid = real.any(2)
    tokens = torch.arange(length, device=states.device).view(k, -1).expand(len(states), k, -1)
    if reduction == "mean":
        count = real.sum(2).clamp(min=1)
        pooled, mixture = (windows * real).sum(2) / count, Mixture(tokens, real[..., 0].to(states.dtype) / count)
    else:
        pooled, mixture = windows.masked_fill(~real, -math.inf).amax(2).masked_fill(~valid, 0), None
    return Pooled(pooled, valid[..., 0].to(states.dtype), valid[..., 0], tokens[..., 0], mixture)


@dataclass(frozen=True, kw_only=True)
class _Tournament:
    """The entries that remain after some rounds; each is a mixture of tokens.

    Attributes:
        tokens: the tokens of each entry; the token that won every round comes first.
        weights: the weights of these tokens; 0 for padding.
        size: number of entries of each document, padding to the next multiple of n/k included; later entries are never
            paired.
        real: number of real entries of each document; they rank first.
    """

    tokens: Int[Tensor, "batch entries group"]
    weights: Float[Tensor, "batch entries group"]
    scores: Float[Tensor, "batch entries"]
    mask: Bool[Tensor, "batch entries"]
    size: Int[Tensor, "batch 1"]
    real: Int[Tensor, "batch 1"]

    @classmethod
    def start(cls, scores: Tensor, mask: Tensor, ratio: int) -> "_Tournament":
        # In half precision, most powers of 20 would be equal.
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        real = mask.sum(1, keepdim=True)
        tokens = torch.arange(scores.shape[1], device=scores.device).expand(scores.shape)
        size = (real + ratio - 1) // ratio * ratio
        return cls(
            tokens=tokens[..., None],
            weights=mask[..., None].to(scores.dtype),
            scores=scores.masked_fill(~mask, 0),
            mask=mask,
            size=size,
            real=real,
        )

    def next_round(self, settings: HalvingSettings) -> "_Tournament":
        left, right = self._pairs(settings)
        entries = self.scores.shape[1]
        valid, has_partner = left < entries, right < entries
        left, right = left.clamp(max=entries - 1), right.clamp(max=entries - 1)
        stronger, weaker = self.scores.gather(1, left), self.scores.gather(1, right)
        share = torch.where(has_partner, _share(stronger, weaker, settings.base), 1.0)
        groups = (-1, -1, self.tokens.shape[-1])
        left, right = left[..., None].expand(groups), right[..., None].expand(groups)
        weights = [
            share[..., None] * self.weights.gather(1, left),
            (1 - share)[..., None] * self.weights.gather(1, right),
        ]
        return _Tournament(
            tokens=torch.cat([self.tokens.gather(1, left), self.tokens.gather(1, right)], -1),
            weights=torch.cat(weights, -1) * valid[..., None],
            scores=share * stronger + (1 - share) * weaker,
            mask=valid,
            size=self.size // 2,
            real=valid.sum(1, keepdim=True),
        )

    def _pairs(self, settings: HalvingSettings) -> tuple[Int[Tensor, "batch pairs"], Int[Tensor, "batch pairs"]]:
        """Indices of the stronger and the weaker entry of each pair; the number of entries means no entry."""
        entries = self.scores.shape[1]
        scores = self.scores.masked_fill(~self.mask, -math.inf)
        if settings.pairing == "neighbours":
            order = scores.unflatten(1, (-1, 2)).argsort(dim=2, descending=True, stable=True)
            pairs = order + torch.arange(0, entries, 2, device=order.device)[:, None]
            left, right = pairs.masked_fill(pairs >= self.real[..., None], entries).unbind(2)
            return left, right
        order = scores.argsort(dim=1, descending=True, stable=True)
        rank, half = torch.arange(entries // 2, device=order.device), self.size // 2
        partner = self.size - 1 - rank if settings.pairing == "mirrored" else half + rank
        left = order[:, : entries // 2].masked_fill(rank >= torch.minimum(self.real, half), entries)
        right = order.gather(1, partner.clamp(0, entries - 1)).masked_fill(
            (rank >= half) | (partner >= self.real), entries
        )
        if settings.order == "score":
            return left, right
        left, position = left.sort(dim=1)
        return left, right.gather(1, position)


def _share(
    stronger: Float[Tensor, "batch pairs"], weaker: Float[Tensor, "batch pairs"], base: float
) -> Float[Tensor, "batch pairs"]:
    """Weight of the stronger entry in its pair: softmax of (bˢ, bʷ), i.e. σ(bˢ − bʷ), computed as σ(bʷ·(bˢ⁻ʷ − 1)).

    Both factors are clamped so that their product cannot overflow; the weight is 1 long before that.
    """
    limit = math.log(torch.finfo(stronger.dtype).max) / 2 - 1
    level = (weaker * math.log(base)).clamp(max=limit).exp()
    return torch.sigmoid(level * ((stronger - weaker) * math.log(base)).clamp(max=limit).expm1())


def _weighted_sums(
    states: Float[Tensor, "batch length width"],
    tokens: Int[Tensor, "batch kept group"],
    weights: Float[Tensor, "batch kept group"],
) -> Float[Tensor, "batch kept width"]:
    """The weighted sum of the states of each group, without copying the states."""
    batch, length, _ = states.shape
    rows = tokens + torch.arange(0, batch * length, length, device=tokens.device)[:, None, None]
    mixed = functional.embedding_bag(
        rows.flatten(0, 1), states.flatten(0, 1), mode="sum", per_sample_weights=weights.flatten(0, 1).to(states.dtype)
    )
    return rearrange(mixed, "(batch kept) width -> batch kept width", batch=batch)


def _num_rounds(length: int, k: int, settings: HalvingSettings) -> int:
    check_k(length, k)
    rounds = (length // k).bit_length() - 1
    if settings.padding == "masked" and k << rounds != length:
        raise InputError(
            f"{length} tokens cannot be halved to {k}: length/k must be a power of two; "
            f"pad to {k << (rounds + 1)} tokens"
        )
    if length % (1 << rounds):
        raise InputError(
            f"{length} tokens cannot be halved {rounds} times, which {k} outputs need; "
            f"pad to a multiple of {1 << rounds}"
        )
    return rounds


def check_k(length: int, k: int) -> None:
    """Raise InputError unless 1 ≤ k ≤ `length`."""
    if not 1 <= k <= length:
        raise InputError(f"k is {k}; it must be at least 1 and at most the number of tokens, which is {length}")
