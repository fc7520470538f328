"""Attention in which each query sees few keys, computed on those keys: a mask per query and head, gathered block by block.

Queries that follow each other tend to see the same keys. The queries of a block therefore share one list of keys, all that any
of them sees; the list is gathered once, and within it a mask says what each query sees. Work falls with the length of the
lists, and the result is that of the dense computation under the same mask.
"""

from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class KeyLists:
    """The keys that blocks of queries see.

    Attributes:
        keys: positions of the keys of each block, the rest of a short list filled with keys that nobody sees.
        seen: which of its block's keys each query sees; a query of padding, which sees none, sees all of them.
        length: number of queries, of which the last block may lack some.
    """

    keys: Int[Tensor, "batch heads blocks listed"]
    seen: Bool[Tensor, "batch heads blocks block listed"]
    length: int

    @property
    def share(self) -> float:
        """Scores that are computed, over those of the dense matrix."""
        return self.seen[0, 0].numel() / self.length**2


def key_lists(
    seen: Bool[Tensor, "batch heads length length"], mask: Bool[Tensor, "batch length"], block: int
) -> KeyLists:
    """The lists for blocks of `block` queries.

    Args:
        seen: True on the keys that each query of each head may attend to.
        mask: True on real tokens; what queries of padding see is of no account.
    """
    length = seen.shape[-1]
    wanted = functional.pad(seen & mask[:, None, :, None], (0, 0, 0, -length % block))
    blocks = rearrange(wanted, "batch heads (blocks block) keys -> batch heads blocks block keys", block=block)
    needed = blocks.any(-2)
    listed = max(int(needed.sum(-1).max()), 1)
    keys = needed.to(torch.uint8).sort(dim=-1, descending=True, stable=True).indices[..., :listed]
    chosen = blocks.gather(-1, keys.unsqueeze(-2).expand(*blocks.shape[:-1], listed))
    return KeyLists(keys, chosen | ~chosen.any(-1, keepdim=True), length)


def gathered_context(
    query: Float[Tensor, "batch heads length size"],
    key: Float[Tensor, "batch heads length size"],
    value: Float[Tensor, "batch heads length size"],
    lists: KeyLists,
    dropout: float,
) -> Float[Tensor, "batch heads length size"]:
    """Sums of values under scaled dot-product attention to the listed keys: as under the mask that the lists were made from."""
    block = lists.seen.shape[-2]
    padded = functional.pad(query, (0, 0, 0, -lists.length % block))
    context = functional.scaled_dot_product_attention(
        rearrange(padded, "batch heads (blocks block) size -> batch heads blocks block size", block=block),
        listed(key, lists.keys),
        listed(value, lists.keys),
        attn_mask=lists.seen,
        dropout_p=dropout,
    )
    return rearrange(context, "batch heads blocks block size -> batch heads (blocks block) size")[:, :, : lists.length]


def listed(
    states: Shaped[Tensor, "batch heads length size"], keys: Int[Tensor, "batch heads *lists"]
) -> Shaped[Tensor, "batch heads *lists size"]:
    """The states that lists of positions name."""
    flat = keys.flatten(2)[..., None].expand(-1, -1, -1, states.shape[-1])
    return states.gather(2, flat).unflatten(2, keys.shape[2:])
