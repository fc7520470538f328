"""A matrix product whose number of rows fits a GPU's tensor cores, for vocabularies of any size."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

_ROWS = 64


def aligned_linear(
    states: Float[Tensor, "... width"],
    weight: Float[Tensor, "rows width"],
    bias: Float[Tensor, " rows"],
    *,
    align: bool,
) -> Float[Tensor, "... rows"]:
    """`functional.linear`. With `align`, it is computed with a multiple of 64 rows, and the added rows are dropped.

    In bf16 an unaligned number of rows, such as the 30,522 tokens of BERT, keeps a GPU from its fastest kernels. Rows
    are added for each product, which copies the weights, so that checkpoints have the vocabulary's own size.
    """
    missing = -len(weight) % _ROWS if align else 0
    if not missing:
        return functional.linear(states, weight, bias)
    padded = functional.linear(states, functional.pad(weight, (0, 0, 0, missing)), functional.pad(bias, (0, missing)))
    return padded[..., : len(weight)]
