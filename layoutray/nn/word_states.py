"""From the tokens of a window to its words and back."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional


def gather_rows(
    rows: Float[Tensor, "batch words width"], index: Int[Tensor, "batch *any"]
) -> Float[Tensor, "batch *any width"]:
    """The row of `rows` at each index; zeros where the index is -1."""
    padded = functional.pad(rows, (0, 0, 1, 0))
    flat = (index + 1).flatten(1).unsqueeze(-1).expand(-1, -1, rows.shape[-1])
    return padded.gather(1, flat).unflatten(1, index.shape[1:])


def word_means(
    values: Float[Tensor, "batch length width"], word_index: Int[Tensor, "batch length"], words: int
) -> Float[Tensor, "batch words width"]:
    """The mean over the tokens of each word; zeros for words without tokens."""
    slot = (word_index + 1).unsqueeze(-1)
    sums = values.new_zeros(len(values), words + 1, values.shape[-1]).scatter_add(1, slot.expand_as(values), values)
    counts = values.new_zeros(len(values), words + 1, 1).scatter_add(1, slot, values.new_ones(slot.shape))
    return (sums / counts.clamp(min=1))[:, 1:]
