"""From n token states to k: Successive Halving Top-k, hard top-k, mean and max of windows.

Successive Halving Top-k is the operator Γ(E, v, k) of "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022,
arXiv:2009.05169): log₂(n/k) rounds, each a tournament. Tokens are sorted by score, the strongest meets the weakest, the second the last
but one, and each pair becomes one token, mixed by a softmax so peaked that the stronger nearly replaces the weaker. Both get a gradient,
and so do all scores.

What is computed depends on scores alone: each output is a weighted sum of n/k tokens. States are therefore read once, at the end.

Padding weighs nothing: whoever meets it stays as he is. A document is pooled as if it had been padded, by itself, to the next multiple
of n/k: r real tokens give ⌈r·k/n⌉ real outputs, whatever the batch is padded to. Outputs that stand for nobody are zero vectors.
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

PADDING_SCORE = 1e-5
"""Score that padding has in the release: below all others, which are sigmoids plus this number."""


class Pooled(NamedTuple):
    """What is left of the tokens.

    Attributes:
        states: one vector per output; zeros where `mask` is False.
        scores: mixed like the states, 0 where `mask` is False; of windows, which have no scores, 1.
        mask: True on outputs that stand for real tokens; these come first.
        origin: index of the token that each output stands for: its strongest, or the first of a window. Where scores are close, that
            need not be the token of greatest weight.
        mixture: the tokens that each output is a weighted sum of; None of maxima, which are no sums.
    """

    states: Float[Tensor, "batch kept width"]
    scores: Float[Tensor, "batch kept"]
    mask: Bool[Tensor, "batch kept"]
    origin: Int[Tensor, "batch kept"]
    mixture: Mixture | None


@dataclass(frozen=True)
class Halving:
    """How tournaments are held; the defaults are the paper's.

    Attributes:
        base: b of the softmax over bᵛ, above 1; the release has 20. The paper prints a plain softmax (Eq. 6) and calls it peaked.
        pairing: the strongest meets the weakest (`mirrored`), or the first of the weaker half (`parallel`).
        order: of outputs: as in the document by their strongest token, or by `score`, the release's default.
        padding: `masked` as in the module's docstring; with `reference_parity` it takes part, as zero vectors of score 1e-5, and n/k
            that is no power of two leaves more than k outputs, as in the release.
    """

    base: float = 20.0
    pairing: Literal["mirrored", "parallel"] = "mirrored"
    order: Literal["document", "score"] = "document"
    padding: Literal["masked", "reference_parity"] = "masked"

    def __post_init__(self) -> None:
        if self.base <= 1:
            raise InputError(f"base is {self.base}; it must be above 1, or the weaker token of a pair would win")


def successive_halving_topk(
    states: Float[Tensor, "batch length width"],
    scores: Float[Tensor, "batch length"],
    mask: Bool[Tensor, "batch length"],
    k: int,
    how: Halving = Halving(),
) -> Pooled:
    """The operator Γ; its states have a gradient in all scores. Tokens of equal score are ranked by place.

    Raises:
        InputError: unless length = k·2ʳ (with `reference_parity`: unless it can be halved ⌊log₂(length/k)⌋ times).
    """
    rounds = _rounds(scores.shape[1], k, how)
    if how.padding == "reference_parity":
        states, scores = states.masked_fill(~mask[..., None], 0), scores.masked_fill(~mask, PADDING_SCORE)
        mask = torch.ones_like(mask)
    tournament = _Tournament.of(scores, mask, 2**rounds)
    for _ in range(rounds):
        tournament = tournament.halved(how)
    return Pooled(
        _mixed(states, tournament.tokens, tournament.weights),
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
    """The k tokens of highest score, in document order: only they get a gradient, and no score does.

    Of r real tokens ⌈r·k/length⌉ are kept. Raises InputError unless 1 ≤ k ≤ length.
    """
    length = scores.shape[1]
    check_k(length, k)
    best = scores.masked_fill(~mask, -math.inf).topk(k).indices
    kept = torch.arange(k, device=best.device) < (mask.sum(1, keepdim=True) * k + length - 1) // length
    places = best.masked_fill(~kept, length).sort().values
    alive, origin = places < length, places.clamp(max=length - 1)
    chosen = states.gather(1, origin[..., None].expand(-1, -1, states.shape[-1]))
    mixture = Mixture(origin[..., None], alive[..., None].to(scores.dtype))
    return Pooled(
        chosen.masked_fill(~alive[..., None], 0),
        scores.gather(1, origin).masked_fill(~alive, 0),
        alive,
        origin,
        mixture,
    )


def window_pool(
    states: Float[Tensor, "batch length width"],
    mask: Bool[Tensor, "batch length"],
    k: int,
    take: Literal["mean", "max"],
) -> Pooled:
    """Mean or maximum over the real tokens of each of k windows side by side (Appendix A). Raises InputError unless k divides length."""
    length = states.shape[1]
    if k < 1 or length % k:
        raise InputError(f"k is {k}; windows of equal size need a k that divides the {length} tokens")
    real = rearrange(mask, "batch (kept window) -> batch kept window 1", kept=k)
    windows = rearrange(states, "batch (kept window) width -> batch kept window width", kept=k)
    alive = real.any(2)
    tokens = torch.arange(length, device=states.device).view(k, -1).expand(len(states), k, -1)
    if take == "mean":
        count = real.sum(2).clamp(min=1)
        pooled, mixture = (windows * real).sum(2) / count, Mixture(tokens, real[..., 0].to(states.dtype) / count)
    else:
        pooled, mixture = windows.masked_fill(~real, -math.inf).amax(2).masked_fill(~alive, 0), None
    return Pooled(pooled, alive[..., 0].to(states.dtype), alive[..., 0], tokens[..., 0], mixture)


@dataclass(frozen=True)
class _Tournament:
    """After some rounds: who is left, and what of.

    Attributes:
        tokens: what each entry is made of, the token that won every round first.
        weights: their shares; 0 for padding.
        size: entries of each document, padding to the next multiple of n/k included; what comes after is left out of all pairs.
        real: how many of them are real; they have the highest ranks.
    """

    tokens: Int[Tensor, "batch entries group"]
    weights: Float[Tensor, "batch entries group"]
    scores: Float[Tensor, "batch entries"]
    mask: Bool[Tensor, "batch entries"]
    size: Int[Tensor, "batch 1"]
    real: Int[Tensor, "batch 1"]

    @classmethod
    def of(cls, scores: Tensor, mask: Tensor, ratio: int) -> "_Tournament":
        # Powers of 20 in half precision would make ties of most scores.
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        real = mask.sum(1, keepdim=True)
        tokens = torch.arange(scores.shape[1], device=scores.device).expand(scores.shape)
        size = (real + ratio - 1) // ratio * ratio
        return cls(tokens[..., None], mask[..., None].to(scores.dtype), scores.masked_fill(~mask, 0), mask, size, real)

    def halved(self, how: Halving) -> "_Tournament":
        left, right = self._pairs(how)
        entries = self.scores.shape[1]
        alive, met = left < entries, right < entries
        left, right = left.clamp(max=entries - 1), right.clamp(max=entries - 1)
        stronger, weaker = self.scores.gather(1, left), self.scores.gather(1, right)
        share = torch.where(met, _share(stronger, weaker, how.base), 1.0)
        groups = (-1, -1, self.tokens.shape[-1])
        left, right = left[..., None].expand(groups), right[..., None].expand(groups)
        weights = [
            share[..., None] * self.weights.gather(1, left),
            (1 - share)[..., None] * self.weights.gather(1, right),
        ]
        return _Tournament(
            torch.cat([self.tokens.gather(1, left), self.tokens.gather(1, right)], -1),
            torch.cat(weights, -1) * alive[..., None],
            share * stronger + (1 - share) * weaker,
            alive,
            self.size // 2,
            torch.minimum(self.real, self.size // 2),
        )

    def _pairs(self, how: Halving) -> tuple[Int[Tensor, "batch pairs"], Int[Tensor, "batch pairs"]]:
        """The stronger and the weaker entry of each pair; the number of entries stands for nobody."""
        entries = self.scores.shape[1]
        order = self.scores.masked_fill(~self.mask, -math.inf).argsort(dim=1, descending=True, stable=True)
        rank, half = torch.arange(entries // 2, device=order.device), self.size // 2
        partner = self.size - 1 - rank if how.pairing == "mirrored" else half + rank
        left = order[:, : entries // 2].masked_fill(rank >= torch.minimum(self.real, half), entries)
        right = order.gather(1, partner.clamp(0, entries - 1)).masked_fill(
            (rank >= half) | (partner >= self.real), entries
        )
        if how.order == "score":
            return left, right
        left, place = left.sort(dim=1)
        return left, right.gather(1, place)


def _share(
    stronger: Float[Tensor, "batch pairs"], weaker: Float[Tensor, "batch pairs"], base: float
) -> Float[Tensor, "batch pairs"]:
    """The stronger's part in its pair: softmax of (bˢ, bʷ), i.e. σ(bˢ − bʷ), the difference taken as bʷ·(bˢ⁻ʷ − 1).

    Both factors are cut off where their product would overflow; the share is 1 long before.
    """
    limit = math.log(torch.finfo(stronger.dtype).max) / 2 - 1
    level = (weaker * math.log(base)).clamp(max=limit).exp()
    return torch.sigmoid(level * ((stronger - weaker) * math.log(base)).clamp(max=limit).expm1())


def _mixed(
    states: Float[Tensor, "batch length width"],
    tokens: Int[Tensor, "batch kept group"],
    weights: Float[Tensor, "batch kept group"],
) -> Float[Tensor, "batch kept width"]:
    """Weighted sums of the states of each group, without a copy of the states."""
    batch, length, _ = states.shape
    rows = tokens + torch.arange(0, batch * length, length, device=tokens.device)[:, None, None]
    mixed = functional.embedding_bag(
        rows.flatten(0, 1), states.flatten(0, 1), mode="sum", per_sample_weights=weights.flatten(0, 1).to(states.dtype)
    )
    return rearrange(mixed, "(batch kept) width -> batch kept width", batch=batch)


def _rounds(length: int, k: int, how: Halving) -> int:
    check_k(length, k)
    rounds = (length // k).bit_length() - 1
    if how.padding == "masked" and k << rounds != length:
        raise InputError(
            f"{length} tokens cannot be halved to {k}: length/k must be a power of two; pad to {k << (rounds + 1)} tokens"
        )
    if length % (1 << rounds):
        raise InputError(
            f"{length} tokens cannot be halved {rounds} times, which {k} outputs need; pad to a multiple of {1 << rounds}"
        )
    return rounds


def check_k(length: int, k: int) -> None:
    """Refuse to keep none or more than all of `length` tokens. Raises InputError."""
    if not 1 <= k <= length:
        raise InputError(f"k is {k}; of {length} tokens at least 1 and at most {length} can be kept")
