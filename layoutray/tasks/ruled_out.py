"""Targets of words of which is known only that they are not of some types.

Such a word may be outside or of any other type. Its loss is that of the probability of all labels that it may have,
-log(1 - sum of the probabilities of the labels that are ruled out), so that it says nothing about the others.

The target is `IGNORED` minus a number whose bits are the types, by their order in the labels, of which the first is
`O`. Types after the 30th are never ruled out.
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from layoutray.batching.collate import IGNORED
from layoutray.document.tags import OUTSIDE, kind_of

_MOST = 30
"""Types, so that targets fit into 32 bits."""


def target(types: Iterable[str], labels: Sequence[str]) -> int:
    """The target of a word that is of none of `types`; `IGNORED` if the labels have none of them."""
    order = [*dict.fromkeys(map(kind_of, labels))]
    known = order[1 : 1 + _MOST] if order[0] == OUTSIDE else []
    return IGNORED - sum(1 << known.index(name) for name in types if name in known)


def kinds(targets: Int[Tensor, " *places"], count: int) -> Bool[Tensor, "*places types"]:
    """Whether each of `count` types is ruled out."""
    numbers = (IGNORED - targets).clamp(min=0)
    return (numbers[..., None] >> torch.arange(count, device=targets.device).clamp(max=_MOST) & 1).bool()


def cross_entropy(
    logits: Float[Tensor, "words labels"], targets: Int[Tensor, " words"], parts: int
) -> Float[Tensor, ""]:
    """The sum of the losses. `parts`: number of labels of each type."""
    known = functional.cross_entropy(logits, targets.clamp(min=IGNORED), ignore_index=IGNORED, reduction="sum")
    some = targets < IGNORED
    if not some.any():
        return known
    logits = logits[some]
    out = kinds(targets[some], (logits.shape[1] - 1) // parts).repeat_interleave(parts, 1)
    allowed = torch.cat([logits[:, :1], logits[:, 1:].masked_fill(out, -torch.inf)], 1)
    return known + (logits.logsumexp(1) - allowed.logsumexp(1)).sum()
