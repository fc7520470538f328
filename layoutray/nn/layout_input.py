"""Where tokens stand on their page, as what is added to the input of an encoder of texts.

Both ways begin quietly. As loud as the text from the start, they cost a writer of fields from scratch on 533 receipts eight points (boxes)
and three (winding).
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from layoutray.errors import InputError
from layoutray.nn.layout_embedding import BoxEmbedding
from layoutray.nn.winding_embedding import WindingEmbedding, page_scaled
from layoutray.tensors import Batch

Name = Literal["none", "boxes", "winding"]

_LARGEST = 1000
"""Of the coordinates of a batch's boxes: thousandths of the page."""
_QUIET = 0.01
"""How loud places are at first, beside a text of about 1. Not 0, behind which nothing learns."""


class BoxInput(nn.Module):
    """Skimformer's ℓ: sums of learned tables, normalised (arXiv:2109.01078, Eq. 2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = BoxEmbedding(width, _LARGEST + 1, dropout=0.0)  # the sum with the text has dropout
        nn.init.constant_(self.embedding.norm.weight, _QUIET)

    def forward(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        return self.embedding(batch.boxes)


class WindingInput(nn.Module):
    """LAMBERT's L(ℓ): cosines and sines of coordinates, projected (arXiv:2002.08087, first version).

    Args:
        width: eight divides it.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = WindingEmbedding(width, "paper")
        self.adapter = nn.Linear(width, width)
        with torch.no_grad():
            self.adapter.weight.mul_(_QUIET)
            self.adapter.bias.zero_()

    def forward(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """Raises InputError when the batch does not say how large its pages are."""
        if batch.page_sizes is None:
            raise InputError("the windows do not say how large their pages are; make them with `layoutray encode`")
        shares = batch.boxes.to(self.adapter.weight.dtype) / _LARGEST
        return self.adapter(self.embedding(page_scaled(shares, batch.page_sizes)))


def layout_input(name: Name, width: int) -> nn.Module | None:
    """The module called `name`: from a batch to what is added to the embeddings of its tokens."""
    match name:
        case "none":
            return None
        case "boxes":
            return BoxInput(width)
        case "winding":
            return WindingInput(width)
