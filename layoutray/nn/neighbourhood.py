"""A layout embedding that sees a picture: LAMBERT's appendix (arXiv:2002.08087, first version), by a convolutional autoencoder.

Round each word lies a square bitmap of where words stand. Six convolutions make a vector of it, and six transposed ones paint it again from
the vector alone; they are trained to do so (task `neighbourhoods`) before the vector tells an encoder of text about places.
"""

from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.nn.word_graph import taken, word_means

PIXELS = 64
_LINES = 22
WIDTH = 128
_CHANNELS = (1, 8, 16, 32, 64, 128, WIDTH)
"""Each convolution halves the side, until one pixel is left."""
_SMALLEST_LINE = 1 / 1000
"""Of the page's longer side; boxes without height have a neighbourhood too."""


@torch.no_grad()
def neighbourhoods(
    boxes: Float[Tensor, "batch words 4"], there: Bool[Tensor, "batch words"]
) -> Float[Tensor, "found 1 64 64"]:
    """Bitmaps round the centres of the words that are `there`, window by window, 1 where the box of any word of the window reaches.

    Their side is 22 lines, of the median height of the window's words. A word is on its own bitmap.

    Args:
        boxes: in one unit for both axes.
    """
    return torch.cat([_of_window(boxes[row, there[row]]) for row in range(len(boxes))])


def _of_window(boxes: Float[Tensor, "words 4"]) -> Float[Tensor, "words 1 64 64"]:
    if not len(boxes):
        return boxes.new_zeros(0, 1, PIXELS, PIXELS)
    pixel = (boxes[:, 3] - boxes[:, 1]).median().clamp(min=_SMALLEST_LINE) * _LINES / PIXELS
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    # A box covers columns times rows: (words, words, pixels) of each is all that has to be held.
    columns, rows = (
        _reached((boxes[:, axis::2] - centres[:, None, axis, None]) / pixel + PIXELS / 2, boxes.dtype)
        for axis in range(2)
    )
    return (rows.mT @ columns > 0).to(boxes.dtype).unsqueeze(1)


def _reached(sides: Float[Tensor, "words others 2"], dtype: torch.dtype) -> Float[Tensor, "words others 64"]:
    """Which of the pixels k to k + 1 lie between the sides, touching ones included at the near side."""
    pixels = torch.arange(PIXELS, device=sides.device)
    return ((sides[..., :1] < pixels + 1) & (sides[..., 1:] >= pixels)).to(dtype)


class NeighbourhoodEmbedding(nn.Module):
    """From the boxes of tokens to a vector of 128 for each; zeros on special and padding tokens."""

    width = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = _layers(nn.Conv2d, _CHANNELS)

    def forward(
        self, boxes: Float[Tensor, "batch length 4"], word_index: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length 128"]:
        """Of boxes in one unit for both axes; all tokens of a word have its box."""
        pictures, there = self.pictures(boxes, word_index)
        vectors = self.vectors(pictures)
        words = vectors.new_zeros(*there.shape, WIDTH).masked_scatter(there.unsqueeze(-1), vectors)
        return taken(words, word_index)

    def pictures(
        self, boxes: Float[Tensor, "batch length 4"], word_index: Int[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, "found 1 64 64"], Bool[Tensor, "batch words"]]:
        """The bitmaps of all words, and which words of each window there are; the arguments are those of `forward`."""
        slots = boxes.shape[1]  # there are no more words than tokens
        there = torch.arange(slots, device=boxes.device) <= word_index.amax(1, keepdim=True)
        return neighbourhoods(word_means(boxes, word_index, slots), there), there

    def vectors(self, pictures: Float[Tensor, "found 1 64 64"]) -> Float[Tensor, "found 128"]:
        """What the convolutions make of bitmaps."""
        return self.convolutions(pictures).flatten(1)


class NeighbourhoodPainter(nn.Module):
    """The autoencoder's other half: from vectors back to bitmaps, as logits."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = _layers(nn.ConvTranspose2d, _CHANNELS[::-1])

    def forward(self, vectors: Float[Tensor, "found 128"]) -> Float[Tensor, "found 1 64 64"]:
        return self.convolutions(vectors[..., None, None])


def _layers(kind: type[nn.Conv2d] | type[nn.ConvTranspose2d], channels: tuple[int, ...]) -> nn.Sequential:
    """Convolutions that halve or double the side, ReLU between them; weights after He, which keep the size of what passes through."""
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        layer = kind(before, after, kernel_size=4, stride=2, padding=1)
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])
