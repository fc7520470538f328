"""Model FLOPs agree with the operations that PyTorch counts."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from layoutray import checkpoint, devices
from layoutray.training.flops import ModelFlops, Work, peak
from tests.batching.test_packing import batch_of_windows
from tests.jobs import NO_DROPOUT, recipe, vocabulary


@pytest.mark.parametrize(("arch", "layers"), [("lambert", 3), ("hf", 2)])
def test_they_are_the_counted_matrix_products_of_a_step(arch: str, layers: int) -> None:
    settings = {"arch": arch, "hidden": 32, "layers": layers, "heads": 2, "feed_forward": 64, **NO_DROPOUT}
    chosen = recipe("masked_lm", model=settings)
    model = checkpoint.build_model(chosen, vocabulary(), ())
    batch = batch_of_windows()
    windows, length = batch.input_ids.shape
    assert batch.labels is not None
    with FlopCounterMode(display=False) as counter:
        model(batch).backward()
    work = Work(windows * length, int((batch.labels != -100).sum()), windows * length**2)
    # Backward passes of attention compute its scores again, which is no part of model FLOPs.
    assert ModelFlops.of(model, layers)(work) == pytest.approx(counter.get_total_flops(), rel=0.1)


def test_the_peak_of_a_cpu_is_measured() -> None:
    assert 1e8 < (peak(devices.CPU) or 0) < 1e14


@pytest.mark.parametrize(
    ("name", "expected"),
    [("NVIDIA H100 80GB HBM3", 989e12), ("NVIDIA H100 PCIe", 756e12), ("NVIDIA A100-SXM4-40GB", 312e12), ("New", None)],
)
def test_the_peak_of_a_gpu_is_that_of_its_name(
    name: str, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: name)
    assert peak(torch.device("cuda")) == expected
