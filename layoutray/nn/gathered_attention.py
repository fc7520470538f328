"""Sparse attention under a mask per query and head: only the visible keys are gathered and computed, block by block.

Consecutive queries tend to see the same keys. The queries of a block share one list of keys: the union of the keys that
they see. The list is gathered once, and a mask within the list says which of its keys each query sees. The cost is
proportional to the length of the lists, and the result equals dense attention under the same mask.
"""

from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional

from layoutray.nn.attention import KeysAndValues


@dataclass(frozen=True)
class KeyLists:
    """The keys that each block of queries sees.

    Attributes:
        keys: positions of the keys of each block; short lists are filled with keys that no query of the block sees.
        seen: True on the listed keys that a query sees; a query of padding would see none and gets all of them.
        length: number of queries; the last block may be partly filled.
    """

    keys: Int[Tensor, "batch heads blocks listed"]
    seen: Bool[Tensor, "batch heads blocks block listed"]
    length: int

    def context(
        self, query: Float[Tensor, "batch heads length size"], memory: KeysAndValues, dropout: nn.Dropout
    ) -> Float[Tensor, "batch heads length size"]:
        """See `AttentionScorer`; equals attention under the mask passed to `key_lists`."""
        block = self.seen.shape[-2]
        padded = functional.pad(query, (0, 0, 0, -self.length % block))
        context = functional.scaled_dot_product_attention(
            rearrange(padded, "batch heads (blocks block) size -> batch heads blocks block size", block=block),
            *(gather_positions(part, self.keys) for part in memory),
            attn_mask=self.seen,
            dropout_p=dropout.p if dropout.training else 0.0,
        )
        joined = rearrange(context, "batch heads blocks block size -> batch heads (blocks block) size")
        return joined[:, :, : self.length]

    @property
    def share(self) -> float:
        """Number of computed scores divided by that of the dense matrix."""
        return self.seen[0, 0].numel() / self.length**2


def key_lists(
    seen: Bool[Tensor, "batch heads length length"], mask: Bool[Tensor, "batch length"], block: int
) -> KeyLists:
    """The key lists of blocks of `block` queries.

    Args:
        seen: True on the keys that each query of each head may attend to.
        mask: True on real tokens; rows of `seen` for padding are ignored.
    """
    length = seen.shape[-1]
    wanted = functional.pad(seen & mask[:, None, :, None], (0, 0, 0, -length % block))
    blocks = rearrange(wanted, "batch heads (blocks block) keys -> batch heads blocks block keys", block=block)
    needed = blocks.any(-2)
    longest = max(int(needed.sum(-1).max()), 1)
    keys = needed.to(torch.uint8).sort(dim=-1, descending=True, stable=True).indices[..., :longest]
    seen_in_list = blocks.gather(-1, keys.unsqueeze(-2).expand(*blocks.shape[:-1], longest))
    return KeyLists(keys, seen_in_list | ~seen_in_list.any(-1, keepdim=True), length)


def gather_positions(
    states: Shaped[Tensor, "batch heads length size"], positions: Int[Tensor, "batch heads *lists"]
) -> Shaped[Tensor, "batch heads *lists size"]:
    """The states at `positions`."""
    flat = positions.flatten(2)[..., None].expand(-1, -1, -1, states.shape[-1])
    return states.gather(2, flat).unflatten(2, positions.shape[2:])
