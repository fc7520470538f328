"""The built wheel: its version is git's tag, it has all files, and the README's first program runs with it alone."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from tests.jobs import NO_DROPOUT, job, pages, recipe, write_pages
from tests.training.runs import alone

REPOSITORY = Path(__file__).resolve().parents[1]
REGISTERED = "models:/layoutray-demo@champion"
TAG = "7.8.9"


def run(command: Sequence[str | Path], folder: Path) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked() -> set[str]:
    """The files that are, or would be, committed."""
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], REPOSITORY).split("\0")
    return {name for name in listed if name and (REPOSITORY / name).is_file()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's files in a folder of their own, without the history of git."""
    folder = tmp_path_factory.mktemp("source")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, folder / name)
    return folder


def version(source: Path) -> str:
    return run([sys.executable, "-m", "setuptools_scm"], source).strip()


@pytest.fixture(scope="module")
def built(source: Path) -> Path:
    """A folder with the sdist of a tagged commit, and the wheel made of the sdist, as `make dist` makes them."""
    assert version(source) == "0.0.0"
    git = ["git", "-c", "user.name=layoutray", "-c", "user.email=layoutray@example.com"]
    run([*git, "init", "--quiet"], source)
    run([*git, "add", "--all"], source)
    run([*git, "commit", "--quiet", "--message", "all files"], source)
    assert re.fullmatch(r"0\.0\.1\.dev1\+g[0-9a-f]+", version(source)), "without a tag, the commit is the version"
    run([*git, "tag", f"v{TAG}"], source)
    run([sys.executable, "-m", "build", "--quiet", "--no-isolation"], source)
    return source / "dist"


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment, into which the command of the image has installed the wheel.

    The dependencies are those of the present environment.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    for file in (REPOSITORY / "constraints.txt", *built.glob("*.whl")):
        shutil.copy(file, folder)
    (arguments,) = re.findall(r"^RUN pip (install .+)$", (REPOSITORY / "infra/Dockerfile").read_text(), re.M)
    pip = f"{sys.executable} -m pip --disable-pip-version-check --python {folder}/bin/python"
    run(["sh", "-c", f"{pip} {arguments} --no-deps --no-index --no-compile"], folder)
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    # A .pth file in a folder that another .pth names is not read, so the present editable install stays out.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin"


def test_wheel_and_sdist_have_the_version_of_the_tag(built: Path) -> None:
    assert {file.name for file in built.iterdir()} == {f"layoutray-{TAG}-py3-none-any.whl", f"layoutray-{TAG}.tar.gz"}


def test_the_wheel_has_every_file_of_the_package_and_no_other(built: Path) -> None:
    with zipfile.ZipFile(built / f"layoutray-{TAG}-py3-none-any.whl") as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert names == {name for name in tracked() if name.startswith("layoutray/")}
    assert {
        "layoutray/recipe/shipped/ingest-folder.toml",
        "layoutray/review/page/index.html",
        "layoutray/py.typed",
    } <= names


def test_the_sdist_has_every_file_of_the_repository(built: Path) -> None:
    with tarfile.open(built / f"layoutray-{TAG}.tar.gz") as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert tracked() - names == set()


def test_the_command_is_that_of_the_wheel(environment: Path, tmp_path: Path) -> None:
    place = "import layoutray; print(layoutray.__file__)"
    assert Path(run([environment / "python", "-c", place], tmp_path).strip()).is_relative_to(environment.parent)
    assert run([environment / "layoutray", "--version"], tmp_path) == f"layoutray {TAG}\n"
    assert "finetune" in run([environment / "layoutray", "--help"], tmp_path)


@pytest.mark.ocr
@pytest.mark.slow
def test_the_python_of_the_readme_runs_with_the_wheel(environment: Path, tmp_path: Path) -> None:
    """As it is, with files of the names that it uses."""
    (program,) = re.findall(
        r"^<!-- run by tests/test_wheel.py -->\n```python\n(.*?)^```",
        (REPOSITORY / "README.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
    assert REGISTERED in program
    trained = job(tmp_path, recipe("entities", model=NO_DROPOUT, steps=1, max_length=24), pages(2))
    alone(trained)
    Image.new("RGB", (800, 1100), "white").save(tmp_path / "scan.pdf")
    write_pages(tmp_path / "runs/demo/trained/pages/1", pages(2))
    run([environment / "python", "-c", program.replace(REGISTERED, str(trained.out))], tmp_path)


@pytest.mark.slow
def test_documents_are_drawn_and_planned_outside_the_repository(environment: Path, tmp_path: Path) -> None:
    run([environment / "layoutray", "synthesize", "drawn", "--count", "3"], tmp_path)
    call = ["layoutray", "ingest", "ingest-synthetic", "drawn", "pages", "--dry-run", "--sample", "0"]
    assert json.loads(run([environment / call[0], *call[1:]], tmp_path))["plan"]["pages"] == 3
    assert "usage: layoutray import" in run(
        [environment / "python", "-m", "layoutray.cli", "import", "--help"], tmp_path
    )


def test_files_without_an_installation_say_that_their_version_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "layoutray").mkdir()
    for name in ("__init__.py", "version.py"):
        shutil.copy(REPOSITORY / "layoutray" / name, tmp_path / "layoutray")
    program = (
        f"import sys; sys.path[:] = [{str(tmp_path)!r}, *sys.path]; import layoutray; print(layoutray.__version__)"
    )
    assert run([sys.executable, "-I", "-S", "-c", program], tmp_path) == "0.0.0+unknown\n"


def test_every_release_has_its_part_of_the_changes() -> None:
    tags = {tag.removeprefix("v") for tag in run(["git", "tag", "--list", "v*"], REPOSITORY).split()}
    headings = re.findall(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(), re.M)
    released = headings[headings[0] == "Unreleased" :]
    assert tags - set(released) == set()
    assert released == sorted(released, key=lambda one: [*map(int, one.split("."))], reverse=True)
