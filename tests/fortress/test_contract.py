"""Schemathesis with all of its checks, against the endpoint behind its listener."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fortress.conftest import Effort, Target
from tests.serving.test_description import SETTINGS

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.ray,
    pytest.mark.ocr,
    pytest.mark.fortress,
    pytest.mark.timeout(1800),
]


def test_all_checks_of_schemathesis(target: Target, effort: Effort, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(SETTINGS)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(tmp_path / "settings.toml"), "run"]
    options = [f"{target.url}/openapi.json", "--checks=all", f"--max-examples={max(effort.examples // 10, 2)}"]
    chosen = ["--phases=examples,coverage,fuzzing", f"--seed={effort.seed}"]
    key = [f"--header=Authorization: {target.keys['honest']['Authorization']}"]
    done = subprocess.run(
        [*command, *options, *chosen, *key], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:]
