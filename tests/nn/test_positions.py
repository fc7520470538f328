import math

import torch

from layoutray.nn.positions import sinusoids


def test_sines_come_before_cosines() -> None:
    found = sinusoids(torch.tensor([0, 3]), 6)
    angles = [3.0, 3 / math.sqrt(10_000), 3 / 10_000]
    expected = [[0.0] * 3 + [1.0] * 3, [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]]
    torch.testing.assert_close(found, torch.tensor(expected))
