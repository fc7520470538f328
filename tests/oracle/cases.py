"""Oracle files on disk: find them at collection, read them in tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from torch import Tensor

from tests.conftest import location


@dataclass(frozen=True)
class Case:
    """One oracle: the tensors of a safetensors file and the facts of its JSON file."""

    name: str
    facts: dict[str, Any]
    tensors: dict[str, Tensor]

    def group(self, prefix: str) -> dict[str, Tensor]:
        """Tensors whose name starts with `prefix/`, without it."""
        return {
            key.removeprefix(f"{prefix}/"): tensor
            for key, tensor in self.tensors.items()
            if key.startswith(f"{prefix}/")
        }


def files(pattern: str) -> list[Any]:
    """Parameters for `parametrize`, one per oracle file that matches `pattern`; one skipped parameter if none does."""
    folder = location("LAYOUTRAY_ORACLE", "oracle")
    found = sorted(folder.glob(pattern))
    absent = pytest.mark.skip(reason=f"no {pattern} in {folder}; set LAYOUTRAY_ORACLE to a folder of oracle files")
    return [pytest.param(file, id=file.stem) for file in found] or [pytest.param(None, marks=absent, id="absent")]


def read(file: Path) -> Case:
    return Case(file.stem, json.loads(file.with_suffix(".json").read_text(encoding="utf-8")), load_file(file))
