"""The figures of a GPU, on a CPU: each row is measured, and one that fails costs itself alone."""

import json

import pytest
import torch

from benchmarks.commands import gpu
from layoutray.errors import InputError


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_is_named() -> None:
    with pytest.raises(InputError, match="PyTorch finds no GPU; run this on a machine that has one, or give --cpu"):
        gpu.main([])


@pytest.mark.slow
def test_rows_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [name for name in gpu._ROWS if not name.startswith("tests")]
    gpu.main(["--cpu", "--size", "tiny", "--only", *rows])
    figures = json.loads(capsys.readouterr().out)
    assert not [name for name in rows if figures[name].startswith(("failed", "not within"))]


@pytest.mark.slow
def test_a_row_that_takes_too_long_costs_itself_alone() -> None:
    assert gpu._in_a_process("packed over padded windows", "tiny", 1) == "not within 1 s"
    assert gpu._in_a_process("no such row", "tiny", 60).startswith("failed: KeyError")
