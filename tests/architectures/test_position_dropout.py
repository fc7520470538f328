"""Positions are dropped as whole vectors with the current probability; tests/oracle compares the schedule."""

import pytest
import torch

from layoutray.architectures.lambert import PositionDropout

POSITIONS = torch.randn(400, 6, generator=torch.Generator().manual_seed(0)) + 10


def dropped(share: float) -> torch.Tensor:
    dropout = PositionDropout()
    dropout.increase_to(share)
    torch.manual_seed(1)
    return dropout(POSITIONS, 5)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_whole_vectors_are_dropped_and_the_others_are_unchanged(share: float) -> None:
    found = dropped(share)
    gone = (found == 0).all(-1)
    assert torch.equal(found[~gone], POSITIONS.expand(5, -1, -1)[~gone])
    assert gone.float().mean().item() == pytest.approx(share, abs=0.03 if 0 < share < 1 else 0)
    assert share in (0.0, 1.0) or not torch.equal(gone[0], gone[1]), "each window has its own chances"


def test_evaluation_takes_the_mean_of_training() -> None:
    dropout = PositionDropout().eval()
    dropout.increase_to(0.25)
    assert torch.equal(dropout(POSITIONS, 2), (0.75 * POSITIONS).expand(2, -1, -1))


def test_the_rate_never_decreases_and_is_saved() -> None:
    dropout = PositionDropout()
    dropout.increase_to(0.8)
    dropout.increase_to(0.2)
    other = PositionDropout()
    other.load_state_dict(dropout.state_dict())
    assert other.share.item() == pytest.approx(0.8)
