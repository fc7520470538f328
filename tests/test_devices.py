"""Which device a process uses."""

import pytest
import torch

from layoutray import devices


@pytest.mark.parametrize(
    ("rank", "processes", "gpus", "device"),
    [(0, 1, 0, "cpu"), (0, 1, 1, "cuda:0"), (3, 4, 4, "cuda:3"), (3, 4, 8, "cuda:3"), (0, 2, 1, "cpu")],
)
def test_a_process_has_a_gpu_of_its_own_or_none(rank: int, processes: int, gpus: int, device: str) -> None:
    assert devices.of_local_rank(rank, processes, gpus) == torch.device(device)


def test_without_a_gpu_the_first_device_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert devices.first_visible() == devices.CPU
