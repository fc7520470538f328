"""Self-attention within consecutive blocks of tokens: time and memory are linear in length.

As in "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169).
"""

from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from layoutray.nn.attention import MultiHeadAttention, VisibleKeys, attention_probabilities, split_heads
from layoutray.nn.token_scoring import received_attention


class BlockwiseAttention(MultiHeadAttention):
    """Multi-head self-attention within blocks, without residual and norm.

    Args:
        block: number of tokens per block; 0 means one block. The last block may be shorter.
    """

    def __init__(self, width: int, heads: int, dropout: float, block: int) -> None:
        super().__init__(width, heads, dropout)
        self.block = block

    def forward(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        blocks, visible = self._blocks(states, mask)
        scorer = VisibleKeys.of_all_queries(visible)
        return _unblocked(self.attend(blocks, self.keys_and_values(blocks), scorer), mask)

    def received(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length"]:
        """The attention that each token receives from the tokens of its block (see `received_attention`)."""
        blocks, visible = self._blocks(states, mask)
        query, key = (split_heads(project(blocks), self.heads) for project in (self.query, self.key))
        return _unblocked(received_attention(attention_probabilities(query, key, visible), visible), mask)

    def _blocks(
        self, states: Float[Tensor, "batch length width"], mask: Bool[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, "blocks size width"], Bool[Tensor, "blocks size"]]:
        """The states in blocks, and the visible tokens of each block: the real ones, or all if none is real."""
        length = states.shape[1]
        size = min(self.block or length, length)
        blocks, visible = (
            rearrange(padded(rows, size), "batch (blocks size) ... -> (batch blocks) size ...", size=size)
            for rows in (states, mask)
        )
        return blocks, visible | ~visible.any(1, keepdim=True)


def padded(rows: Tensor, multiple: int) -> Tensor:
    """`rows` of shape (batch, length, …), zero-padded at the end to a length that `multiple` divides."""
    return functional.pad(rows, (0, 0) * (rows.ndim - 2) + (0, -rows.shape[1] % multiple))


def _unblocked(blocks: Tensor, mask: Bool[Tensor, "batch length"]) -> Tensor:
    """The blocks joined to sequences, cut to the length of `mask`."""
    return rearrange(blocks, "(batch blocks) size ... -> batch (blocks size) ...", batch=len(mask))[:, : mask.shape[1]]
