"""The image's recipe fits the repository: what can be said of it without building it."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKERFILE = (REPOSITORY / "infra" / "Dockerfile").read_text()


def copied() -> list[str]:
    return [source for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.M) for source in line.split()[:-1]]


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    let_through = (REPOSITORY / ".dockerignore").read_text().split()
    assert copied()
    for source in copied():
        assert (REPOSITORY / source).exists(), source
        assert f"!{source}" in let_through, source


def test_the_image_brings_a_python_that_the_package_takes() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    major, minor = re.search(r"^FROM python:(\d+)\.(\d+)", DOCKERFILE, re.M).groups()
    needed = tuple(map(int, re.fullmatch(r">=(\d+)\.(\d+)", project["requires-python"]).groups()))
    assert (int(major), int(minor)) >= needed
