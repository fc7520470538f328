"""What `layoutray serve` refuses before it starts anything."""

from pathlib import Path

import pytest

from layoutray.cli import serve
from layoutray.errors import InputError
from tests.cluster.checkpoints import save_untrained


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    save_untrained(tmp_path / "checkpoint")
    return str(tmp_path / "checkpoint")


@pytest.mark.parametrize("models", [["invoices"], ["=runs/a"], ["invoices="], ["invoices=runs/a", "invoices=runs/b"]])
def test_a_model_needs_a_name_of_its_own(checkpoint: str, models: list[str]) -> None:
    options = [part for model in models for part in ("--model", model)]
    with pytest.raises(InputError, match="must be NAME=MODEL, with a name that no other --model has"):
        serve.main([checkpoint, *options])


def test_a_model_that_can_never_be_loaded_is_refused(checkpoint: str) -> None:
    with pytest.raises(InputError, match=r"weights of model invoices take .* MiB.*give a larger --model-memory"):
        serve.main([checkpoint, "--model", f"invoices={checkpoint}", "--model-memory", "0.001"])
