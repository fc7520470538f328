"""The image's recipe fits the repository: what can be said of it without building it."""

import re
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKERFILE = (REPOSITORY / "infra" / "Dockerfile").read_text()
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def copied() -> list[str]:
    return [source for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.M) for source in line.split()[:-1]]


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    let_through = (REPOSITORY / ".dockerignore").read_text().split()
    assert copied()
    for source in copied():
        # tests/test_wheel.py installs the wheel that `make dist` puts there.
        assert source == "dist/*.whl" or (REPOSITORY / source).exists(), source
    assert let_through == ["*", *(f"!{source}" for source in copied())]


def test_the_image_brings_a_python_that_the_package_takes() -> None:
    major, minor = re.search(r"^FROM python:(\d+)\.(\d+)", DOCKERFILE, re.M).groups()
    needed = tuple(map(int, re.fullmatch(r">=(\d+)\.(\d+)", PROJECT["requires-python"]).groups()))
    assert (int(major), int(minor)) >= needed


def test_what_is_installed_is_pinned_and_declared() -> None:
    (installed,) = re.findall(r"^RUN pip install (.+)$", DOCKERFILE, re.M)
    assert "--constraint constraints.txt" in installed
    (extras,) = re.findall(r'"\$\(ls layoutray-\*\.whl\)\[([\w,]+)\]"', installed)
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()


def test_nothing_runs_as_root() -> None:
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE, re.M)
    assert f"--uid {user} " in DOCKERFILE


def test_english_is_among_the_language_packs() -> None:
    (languages,) = re.findall(r'^ARG TESSERACT_LANGUAGES="([a-z_ ]+)"$', DOCKERFILE, re.M)
    assert "eng" in languages.split()
