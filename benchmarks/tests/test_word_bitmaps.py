"""Bitmaps of the layout around words, their vectors, and the reconstruction of bitmaps."""

import torch

from benchmarks.plugins.word_bitmaps import PIXELS, BitmapDecoder, BitmapEmbedding, word_bitmaps
from benchmarks.tests.word_vectors import words


def by_hand(boxes: list[list[float]], word: int, line: float) -> list[list[float]]:
    """The bitmap of a word, pixel by pixel: 1 where the box of any word touches the pixel."""
    size = 22 * line / PIXELS
    left, top = ((boxes[word][axis] + boxes[word][axis + 2]) / 2 - 11 * line for axis in range(2))

    def reached(row: int, column: int) -> bool:
        return any(
            x0 < left + (column + 1) * size
            and x1 >= left + column * size
            and y0 < top + (row + 1) * size
            and y1 >= top + row * size
            for x0, y0, x1, y1 in boxes
        )

    return [[float(reached(row, column)) for column in range(PIXELS)] for row in range(PIXELS)]


def test_bitmaps_equal_a_loop_over_pixels() -> None:
    random = torch.Generator().manual_seed(3)
    corners = torch.rand(12, 2, generator=random, dtype=torch.float64)
    sizes = torch.rand(12, 2, generator=random, dtype=torch.float64) * torch.tensor([0.1, 0.03])
    boxes = torch.cat([corners, corners + sizes], -1)
    boxes[3, 2:] = boxes[3, :2]  # a word without area is a dot
    there = torch.arange(15) < 12
    found = word_bitmaps(torch.nn.functional.pad(boxes, (0, 0, 0, 3))[None], there[None])
    heights = sorted((boxes[:, 3] - boxes[:, 1]).tolist())
    assert found.shape == (12, 1, PIXELS, PIXELS)
    for word in range(12):
        assert found[word, 0].tolist() == by_hand(boxes.tolist(), word, heights[5])
    assert 12 < found.sum() < 12 * PIXELS**2 / 2


def test_bitmaps_do_not_change_with_scale_and_shift() -> None:
    boxes = torch.tensor([[[0.25, 0.25, 0.375, 0.28125], [0.5, 0.25, 0.625, 0.28125], [0.25, 0.5, 0.375, 0.53125]]])
    there = torch.ones(1, 3, dtype=torch.bool)
    assert torch.equal(word_bitmaps(boxes, there), word_bitmaps(boxes / 2 + 0.125, there))
    assert not torch.equal(word_bitmaps(boxes, there), word_bitmaps(boxes * torch.tensor([1.0, 2.0, 1.0, 2.0]), there))


def test_reconstruction_is_learned() -> None:
    torch.manual_seed(0)
    module, decoder = BitmapEmbedding(), BitmapDecoder()
    bitmaps, _ = module.bitmaps(*words(8))
    optimizer = torch.optim.AdamW([*module.parameters(), *decoder.parameters()], lr=2e-3)
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(decoder(module.encode(bitmaps)), bitmaps)
        loss.backward()
        optimizer.step()
    share = bitmaps.mean()
    assert loss < 0.3 * -(share * share.log() + (1 - share) * (1 - share).log())
