"""Keys that depend on the query: vectors of the relations between two tokens are added to the key.

"Self-Attention with Relative Position Representations" (NAACL 2018, arXiv:1803.02155), equation 4:

    score_ij = q_i · (k_j + Σ_r a_r(i,j)) / √d

A relation, for example a distance in buckets, has a table of vectors a, which all heads share. There are few vectors
and many pairs of tokens, so queries are multiplied with the vectors, and the products are looked up for each pair.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.nn.attention import KeysAndValues, VisibleKeys


@dataclass(frozen=True)
class RelativeKeys:
    """The relations of all pairs of tokens of a batch.

    Attributes:
        vectors: of all relations, one below the other.
        numbers: for each relation, the row of `vectors` for a query (rows) and a key (columns).
        mask: True on keys that may be attended to.
    """

    vectors: Float[Tensor, "vectors size"]
    numbers: Sequence[Int[Tensor, "#batch length length"]]
    mask: Bool[Tensor, "batch length"]

    def context(
        self, query: Float[Tensor, "batch heads length size"], memory: KeysAndValues, dropout: nn.Dropout
    ) -> Float[Tensor, "batch heads length size"]:
        """See `AttentionScorer`."""
        return VisibleKeys.with_bias(self.scores(query), self.mask).context(query, memory, dropout)

    def scores(self, query: Float[Tensor, "batch heads length size"]) -> Float[Tensor, "batch heads length length"]:
        """Σ q_i · a_r(i,j) / √d, to be added to q_i · k_j / √d."""
        products = query @ self.vectors.to(query.dtype).T / math.sqrt(query.shape[-1])
        batch, heads, length, _ = query.shape
        summed = products.new_zeros(())
        for number in self.numbers:
            summed = summed + products.gather(-1, number.unsqueeze(1).expand(batch, heads, length, length))
        return summed
