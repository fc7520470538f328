"""Layout embeddings that are added to the input of a text encoder.

All start at zero or near it. If they start at the scale of the text embeddings, a model that generates fields, trained
from scratch on 533 receipts, loses eight points of F1 (boxes) and three (winding).
"""

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from layoutray.errors import InputError
from layoutray.nn.gentle import GENTLE, GentleAdapter, start_small
from layoutray.nn.layout_embedding import BoxEmbedding
from layoutray.nn.winding_embedding import WindingEmbedding, page_scaled
from layoutray.tensors import BOX_GRID, Batch

LayoutInputName = Literal["none", "boxes", "winding"]
AdapterName = Literal["plain", "gentle"]


class BoxInput(nn.Module):
    """Skimformer's ℓ: the normalised sum of learned tables (arXiv:2109.01078, Eq. 2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = BoxEmbedding(width, BOX_GRID + 1, dropout=0.0)  # dropout follows on the sum with the text
        nn.init.constant_(self.embedding.norm.weight, GENTLE)

    def forward(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        return self.embedding(batch.boxes)


class WindingInput(nn.Module):
    """LAMBERT's L(ℓ): cosines and sines of coordinates, projected (arXiv:2002.08087, first version).

    Args:
        width: divisible by eight.
        adapter: L is `plain`, for a training from scratch, or a `GentleAdapter`, for one from a trained encoder.
    """

    def __init__(self, width: int, adapter: AdapterName) -> None:
        super().__init__()
        self.embedding = WindingEmbedding(width, "paper")
        self.adapter = (nn.Linear if adapter == "plain" else GentleAdapter)(width, width)
        start_small(self.adapter)

    def forward(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """Raises InputError if the batch has no page sizes."""
        if batch.page_sizes is None:
            raise InputError("the examples have no page sizes; make them with `layoutray encode`")
        shares = batch.boxes.to(self.adapter.weight.dtype) / BOX_GRID
        return self.adapter(self.embedding(page_scaled(shares, batch.page_sizes)))


def layout_input(name: LayoutInputName, width: int, adapter: AdapterName) -> nn.Module | None:
    """The module called `name`, which maps a batch to the layout term of its token embeddings; None for `none`.

    `adapter` is that of `winding`.
    """
    match name:
        case "none":
            return None
        case "boxes":
            return BoxInput(width)
        case "winding":
            return WindingInput(width, adapter)
