"""A layout embedding by a convolutional autoencoder: the appendix of LAMBERT (arXiv:2002.08087, first version).

The neighbourhood of a word is a square bitmap, centred on the word, that shows which pixels are covered by words. Six
convolutions encode the bitmap as a vector, and six transposed convolutions reconstruct the bitmap from the vector. Task
`neighbourhoods` trains both on reconstruction; then the vectors are the layout embedding of a text encoder:
layout `autoencoder` of LAMBERT.

Departures from the paper: a neighbourhood is centred on the word and shows the boxes of all words of its window, itself
included; the height of a line is the median height of the window's words.
"""

from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.architectures.lambert import LambertConfig, TokenPlaces, linear_adapter
from layoutray.nn.super_tokens import gather_rows, word_means
from layoutray.tensors import BOX_GRID

PIXELS = 64
"""Side of a bitmap."""
_LINES = 22
"""Side of a bitmap in lines of text."""
WIDTH = 128
_CHANNELS = (1, 8, 16, 32, 64, 128, WIDTH)
"""Each convolution halves the side, down to one pixel."""
_SMALLEST_LINE = 1 / BOX_GRID
"""Minimum line height as a share of the page's longer side, for boxes of height 0."""


@torch.no_grad()
def word_bitmaps(
    boxes: Float[Tensor, "batch words 4"], is_word: Bool[Tensor, "batch words"]
) -> Float[Tensor, "all_words 1 64 64"]:
    """One bitmap centred on each word, window after window: 1 on pixels that the box of any word of the window touches.

    The side is 22 times the median height of the window's words. A word's bitmap also shows the word itself.

    Args:
        boxes: x0 y0 x1 y1 in the same unit on both axes.
        is_word: False on padding.
    """
    return torch.cat([_window_bitmaps(boxes[row, is_word[row]]) for row in range(len(boxes))])


def _window_bitmaps(boxes: Float[Tensor, "words 4"]) -> Float[Tensor, "words 1 64 64"]:
    if not len(boxes):
        return boxes.new_zeros(0, 1, PIXELS, PIXELS)
    pixel = (boxes[:, 3] - boxes[:, 1]).median().clamp(min=_SMALLEST_LINE) * _LINES / PIXELS
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    # A box covers the product of its columns and rows: two tensors (words, words, pixels) instead of one per pixel
    # pair.
    columns, rows = (
        _touched((boxes[:, axis::2] - centres[:, None, axis, None]) / pixel + PIXELS / 2, boxes.dtype)
        for axis in range(2)
    )
    return (rows.mT @ columns > 0).to(boxes.dtype).unsqueeze(1)


def _touched(sides: Float[Tensor, "words others 2"], dtype: torch.dtype) -> Float[Tensor, "words others 64"]:
    """1 on pixels [k, k + 1] that the interval between the sides touches: x0 < k + 1 and x1 >= k."""
    pixels = torch.arange(PIXELS, device=sides.device)
    return ((sides[..., :1] < pixels + 1) & (sides[..., 1:] >= pixels)).to(dtype)


class BitmapEmbedding(nn.Module):
    """Maps the boxes of tokens to a vector of 128 numbers each; zeros on special and padding tokens."""

    width = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = _layers(nn.Conv2d, _CHANNELS)

    def forward(
        self, boxes: Float[Tensor, "batch length 4"], word_index: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length 128"]:
        """Layout vectors of tokens.

        Args:
            boxes: x0 y0 x1 y1 in the same unit on both axes; all tokens of a word have its box.
            word_index: number of each token's word, -1 if it has none.
        """
        bitmaps, is_word = self.bitmaps(boxes, word_index)
        vectors = self.encode(bitmaps)
        words = vectors.new_zeros(*is_word.shape, WIDTH).masked_scatter(is_word.unsqueeze(-1), vectors)
        return gather_rows(words, word_index)

    def bitmaps(
        self, boxes: Float[Tensor, "batch length 4"], word_index: Int[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, "all_words 1 64 64"], Bool[Tensor, "batch words"]]:
        """The bitmaps of all words, and a mask that is True on words; the arguments are those of `forward`."""
        slots = boxes.shape[1]  # a window has at most as many words as tokens
        is_word = torch.arange(slots, device=boxes.device) <= word_index.amax(1, keepdim=True)
        return word_bitmaps(word_means(boxes, word_index, slots), is_word), is_word

    def encode(self, bitmaps: Float[Tensor, "all_words 1 64 64"]) -> Float[Tensor, "all_words 128"]:
        """The vectors of bitmaps."""
        return self.convolutions(bitmaps).flatten(1)


class BitmapDecoder(nn.Module):
    """The decoder of the autoencoder: maps vectors to the logits of bitmaps."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = _layers(nn.ConvTranspose2d, _CHANNELS[::-1])

    def forward(self, vectors: Float[Tensor, "all_words 128"]) -> Float[Tensor, "all_words 1 64 64"]:
        return self.convolutions(vectors[..., None, None])


def _layers(kind: type[nn.Conv2d] | type[nn.ConvTranspose2d], channels: tuple[int, ...]) -> nn.Sequential:
    """Convolutions that halve or double the side, with ReLU between them and He's initial weights."""
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        layer = kind(before, after, kernel_size=4, stride=2, padding=1)
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class AutoencoderLayout(nn.Module):
    """L(ℓ) with ℓ from the autoencoder."""

    def __init__(self, config: LambertConfig) -> None:
        super().__init__()
        self.embedding = BitmapEmbedding()
        self.adapter = linear_adapter(self.embedding.width, config)

    def forward(self, places: TokenPlaces) -> Float[Tensor, "batch length width"]:
        return self.adapter(self.embedding(places.scaled, places.word_index))


LAYOUT = AutoencoderLayout
