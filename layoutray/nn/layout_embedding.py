"""Layout embeddings: sums of learned coordinate tables with LayerNorm and dropout. All variants take boxes as input.

Boxes are integers x0 y0 x1 y1 with 0 ≤ x0 ≤ x1 < max_2d, and likewise for y; `layoutray.batching.collate` checks them.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from layoutray.nn.block import LAYER_NORM_EPSILON


class BoxTables(nn.Module):
    """X[x0] + Y[y0] + X[x1] + Y[y1] + H[y1−y0] + W[x1−x0]: the four tables of LayoutLM and Skim-Attention."""

    def __init__(self, size: int, max_2d: int) -> None:
        super().__init__()
        self.x = nn.Embedding(max_2d, size)
        self.y = nn.Embedding(max_2d, size)
        self.width = nn.Embedding(max_2d, size)
        self.height = nn.Embedding(max_2d, size)

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch length size"]:
        x0, y0, x1, y1 = boxes.unbind(-1)
        corners = self.x(x0) + self.y(y0) + self.x(x1) + self.y(y1)
        return corners + self.height(y1 - y0) + self.width(x1 - x0)


class BoxEmbedding(BoxTables):
    """LayerNorm and dropout of the sum of tables: the input of Skim-Attention."""

    def __init__(self, size: int, max_2d: int, dropout: float, epsilon: float = LAYER_NORM_EPSILON) -> None:
        super().__init__(size, max_2d)
        self.norm = nn.LayerNorm(size, eps=epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch length size"]:
        return self.dropout(self.norm(super().forward(boxes)))


class UniformBoxEmbedding(BoxEmbedding):
    """Replaces all boxes by zeros (the ablation without layout)."""

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch length size"]:
        return super().forward(torch.zeros_like(boxes))


class CentreEmbedding(nn.Module):
    """LN(X[(x0+x1)//2] + Y[(y0+y1)//2]): centres without sizes (the degraded ablation)."""

    def __init__(self, size: int, max_2d: int, dropout: float) -> None:
        super().__init__()
        self.x = nn.Embedding(max_2d, size)
        self.y = nn.Embedding(max_2d, size)
        self.norm = nn.LayerNorm(size, eps=LAYER_NORM_EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch length size"]:
        x0, y0, x1, y1 = boxes.unbind(-1)
        return self.dropout(self.norm(self.x((x0 + x1) // 2) + self.y((y0 + y1) // 2)))


class SequenceEmbedding(nn.Module):
    """LN(P[i]) for the i-th token; ignores boxes (the 1-D ablation)."""

    def __init__(self, size: int, max_length: int, dropout: float) -> None:
        super().__init__()
        self.position = nn.Embedding(max_length, size)
        self.norm = nn.LayerNorm(size, eps=LAYER_NORM_EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, boxes: Int[Tensor, "batch length 4"]) -> Float[Tensor, "batch length size"]:
        batch, length, _ = boxes.shape
        positions = torch.arange(length, device=boxes.device).expand(batch, length)
        return self.dropout(self.norm(self.position(positions)))


@torch.no_grad()
def draw_waves(table: nn.Embedding, shortest: float, longest: float) -> None:
    """Redraw a coordinate table so that the rows of nearby coordinates are similar.

    Row c is cos(c ω + φ) with random ω and φ. The product of two rows then falls with their distance (random Fourier
    features, Rahimi and Recht, 2007).

    Args:
        shortest, longest: each column has a length scale, in rows, between these two; it is log-uniform.
    """
    rows, columns = table.weight.shape
    distance = torch.empty(columns).uniform_(math.log(shortest), math.log(longest)).exp()
    frequency, phase = torch.randn(columns) / distance, 2 * math.pi * torch.rand(columns)
    table.weight.copy_(torch.cos(torch.arange(rows)[:, None] * frequency + phase))
