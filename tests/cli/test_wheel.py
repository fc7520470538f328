"""A built wheel installs one top-level package, whose command works outside the repository."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the repository's files, as a build writes into its folder."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, copy)
    for name in ("layoutray", "pipelines"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(out), str(copy))
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; its dependencies are those of the present one, without editable installs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    with zipfile.ZipFile(wheel) as opened:
        names = {name.partition("/")[0] for name in opened.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"layoutray"}
    pip("--python", str(folder / "bin/python"), "install", "--no-deps", "--no-index", str(wheel))
    # A .pth file in a folder that another .pth names is not read, so the present editable install stays out.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder


def pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run(environment: Path, folder: Path, command: Sequence[str]) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [environment / "bin" / command[0], *command[1:]],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_recipes_and_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    assert {"layoutray/py.typed", "layoutray/recipes/ingest-folder.toml"} <= names
    shipped = {f"layoutray/recipes/{file.name}" for file in (REPOSITORY / "layoutray/recipes").iterdir()}
    assert shipped <= names


def test_the_command_works_outside_the_repository(environment: Path, tmp_path: Path) -> None:
    place = "import layoutray; print(layoutray.__file__)"
    assert Path(run(environment, tmp_path, ["python", "-c", place]).strip()).is_relative_to(environment)
    assert "finetune" in run(environment, tmp_path, ["layoutray", "--help"])
    run(environment, tmp_path, ["layoutray", "synthesize", "drawn", "--count", "3"])
    call = ["layoutray", "ingest", "ingest-synthetic", "drawn", "pages", "--dry-run", "--sample", "0"]
    assert json.loads(run(environment, tmp_path, call))["plan"]["pages"] == 3
    assert "usage: layoutray import" in run(
        environment, tmp_path, ["python", "-m", "layoutray.cli", "import", "--help"]
    )
