"""Model FLOPs agree with the operations that PyTorch counts."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from layoutray import checkpoint, devices
from layoutray.training.flops import ModelFlops, Work, peak
from tests.batching.test_packing import VOCABULARY, batch_of_windows, recipe


@pytest.mark.parametrize("model", ["lambert", "hf"])
def test_they_are_the_counted_matrix_products_of_a_step(model: str) -> None:
    chosen = recipe(model, "masked_lm")
    made = checkpoint.build_model(chosen, VOCABULARY, ())
    batch = batch_of_windows()
    windows, length = batch.input_ids.shape
    assert batch.labels is not None
    # The counter does not know the CPU's fused attention.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        made(batch).backward()
    work = Work(windows * length, int((batch.labels != -100).sum()), windows * length**2)
    assert ModelFlops.of(made, chosen.arch_config.layers)(work) == pytest.approx(counter.get_total_flops(), rel=0.05)


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
