"""What travels with `ray job submit --working-dir .` is small, and is what a job needs."""

import shutil
import subprocess
import zipfile
from pathlib import Path

from ray._private.ray_constants import get_runtime_env_default_excludes
from ray._private.runtime_env.packaging import create_package

from tests.infra.manifests import REPOSITORY

MAX_BYTES = 3 * 2**20
WEIGHTS = ("layoutray/start/checkpoint/", "layoutray/ocr/ppocr/networks/")
"""A job may train from the start, and reads pages by the networks."""
MAX_BYTES_OF_WEIGHTS = 33 * 2**20
PACKAGES = {"layoutray", "pipelines"}
"""Folders that a job needs."""


def listed() -> list[str]:
    """The files of the repository, as a newcomer has them."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return [name for name in names if (REPOSITORY / name).is_file()]


def clone(folder: Path) -> Path:
    """Fill `folder` with the repository, and with what work leaves beside it."""
    for name in listed():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, folder / name)
    for left in (".venv/bin/python", "runs/pages/part.parquet", "mlruns/0/meta.yaml", "mlflow.db", ".git/HEAD"):
        (folder / left).parent.mkdir(parents=True, exist_ok=True)
        (folder / left).write_bytes(bytes(2**20))
    return folder


def test_what_travels_is_small_and_is_what_a_job_needs(tmp_path: Path) -> None:
    package = tmp_path / "package.zip"
    create_package(
        str(clone(tmp_path / "clone")), package, include_gitignore=True, excludes=get_runtime_env_default_excludes()
    )
    with zipfile.ZipFile(package) as opened:
        names = {name for name in opened.namelist() if not name.endswith("/")}
    with zipfile.ZipFile(package) as opened:
        sizes = {one.filename: one.compress_size for one in opened.infolist()}
    weights = sum(size for name, size in sizes.items() if name.startswith(WEIGHTS))
    assert weights < MAX_BYTES_OF_WEIGHTS
    assert sum(sizes.values()) - weights < MAX_BYTES
    assert {"layoutray/__init__.py", "pipelines/ingest.py", "layoutray/recipe/shipped/ingest-folder.toml"} <= names
    needed = {name for name in listed() if "/" not in name or name.partition("/")[0] in PACKAGES}
    assert names == needed
