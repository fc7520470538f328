"""Which device a process uses, and that it reuses memory."""

import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from layoutray import devices


@pytest.mark.parametrize(
    ("rank", "processes", "gpus", "device"),
    [(0, 1, 0, "cpu"), (0, 1, 1, "cuda:0"), (3, 4, 4, "cuda:3"), (3, 4, 8, "cuda:3"), (0, 2, 1, "cpu")],
)
def test_a_process_has_a_gpu_of_its_own_or_none(rank: int, processes: int, gpus: int, device: str) -> None:
    assert devices.of_local_rank(rank, processes, gpus) == torch.device(device)


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="Linux says there what the CPU can do")
def test_bf16_is_fast_on_a_cpu_with_instructions_for_it() -> None:
    instructions = set(Path("/proc/cpuinfo").read_text().split())
    assert devices.multiplies_bf16(devices.CPU) == bool(instructions & {"avx512_bf16", "amx_bf16", "bf16"})


def test_without_a_gpu_the_first_device_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert devices.first_visible() == devices.CPU


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of the GNU C library")
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.slow
def test_a_process_that_keeps_its_memory_needs_no_new_pages_for_the_next_tensor(keeps: bool) -> None:
    program = f"""
import resource, torch
from layoutray import devices
if {keeps}: devices.keep_freed_memory()
for _ in range(30): torch.ones(1 << 24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5): torch.ones(1 << 24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    pages = 5 * 4 * (1 << 24) / resource.getpagesize()
    assert int(done.stdout) < 0.01 * pages if keeps else int(done.stdout) > 0.9 * pages
