"""Attention of tokens to each other within blocks side by side, as in "Sparsifying Transformer Models with Trainable Representation
Pooling" (ACL 2022, arXiv:2009.05169): time and memory linear in length.
"""

from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from layoutray.nn.attention import MultiHeadAttention, attention_probabilities, split_heads
from layoutray.nn.token_scoring import received_attention


class BlockwiseAttention(MultiHeadAttention):
    """Multi-head self-attention within blocks, without residual and norm.

    Args:
        block: tokens that attend to each other; 0 is all of them. The last block may have fewer.
    """

    def __init__(self, width: int, heads: int, dropout: float, block: int) -> None:
        super().__init__(width, heads, dropout)
        self.block = block

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        blocks, seen = self._blocks(states, mask)
        return _joined(self.recall(blocks, self.remember(blocks), seen[:, None, None, :]), mask)

    def received(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length"]:
        """The attention that each token gets from its block (see `received_attention`)."""
        blocks, seen = self._blocks(states, mask)
        query, key = (split_heads(project(blocks), self.heads) for project in (self.query, self.key))
        return _joined(received_attention(attention_probabilities(query, key, seen), seen), mask)

    def _blocks(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, "blocks size width"], Bool[Tensor, "blocks size"]]:
        """States by block, and what is seen of each block: its real tokens, or all of a block that has none."""
        length = states.shape[1]
        size = min(self.block or length, length)
        blocks, seen = (
            rearrange(padded(rows, size), "batch (blocks size) ... -> (batch blocks) size ...", size=size)
            for rows in (states, mask)
        )
        return blocks, seen | ~seen.any(1, keepdim=True)


def padded(rows: Tensor, multiple: int) -> Tensor:
    """(batch, length, …) with zeros at the end, so that `multiple` divides the length."""
    return functional.pad(rows, (0, 0) * (rows.ndim - 2) + (0, -rows.shape[1] % multiple))


def _joined(blocks: Tensor, mask: Bool[Tensor, "batch length"]) -> Tensor:
    """Blocks as whole texts again, cut to the length of `mask`."""
    return rearrange(blocks, "(batch blocks) size ... -> batch (blocks size) ...", batch=len(mask))[:, : mask.shape[1]]
