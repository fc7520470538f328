"""Each dependency is declared where it is used: nothing undeclared is imported, nothing unused is declared."""

import ast
import importlib.metadata
import importlib.util
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
CORE = "dependencies"

FOLDERS = {
    "layoutray": {CORE, "postgresql"},
    "pipelines": {CORE},
    "benchmarks": {CORE, "benchmarks", "dev"},
    "tests": {CORE, "pretrained", "dev"},
    "docs": {CORE, "docs", "dev"},
}
"""What each folder may import: the dependencies, and those of extras."""

NAMED = {
    "accelerate": ("docs/examples/train_lilt.py", "accelerate"),
    "beartype": ("tests/conftest.py", "beartype.beartype"),
    "build": ("Makefile", "python -m build"),
    "fastapi-offline": ("layoutray/serving/description.py", "fastapi_offline"),
    "furo": ("docs/conf.py", "furo"),
    "import-linter": ("Makefile", "/lint-imports"),
    "myst-parser": ("docs/conf.py", "myst_parser"),
    "nvidia-ml-py": ("site-packages/mlflow/system_metrics/metrics/gpu_monitor.py", "import pynvml"),
    "psycopg2-binary": ("infra/compose.yaml", "postgresql+psycopg2://"),
    "pyright": ("Makefile", "/pyright"),
    "pytest-timeout": ("pyproject.toml", "\ntimeout = "),
    "python-multipart": ("site-packages/starlette/formparsers.py", "import python_multipart"),
    "ruff": ("Makefile", "/ruff"),
    "schemathesis": ("tests/serving/test_description.py", "schemathesis.cli"),
    "setuptools": ("pyproject.toml", "setuptools.build_meta"),
    "setuptools-scm": ("pyproject.toml", "[tool.setuptools_scm]"),
    "sphinx": ("Makefile", "python -m sphinx"),
}
"""Where a dependency is used that no import names: a file, and text of it that would not be there otherwise."""


def normal(name: str) -> str:
    """The normal form of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(group: str) -> set[str]:
    """The distributions of the dependencies, or of an extra with the extras that it names."""
    found: set[str] = set()
    for requirement in PROJECT[CORE] if group == CORE else EXTRAS[group]:
        name = normal(re.split(r"[\[<>=!~ ;]", requirement)[0])
        found |= declared(re.findall(r"\[(.*)\]", requirement)[0]) if name == "layoutray" else {name}
    return found


@cache
def distributions() -> Mapping[str, set[str]]:
    """Module -> installed distributions that bring it."""
    return {module: set(map(normal, names)) for module, names in importlib.metadata.packages_distributions().items()}


def modules_of(node: ast.AST) -> list[str]:
    """Modules of an import, and those with a literal name of `import_module`, `find_spec` and `importorskip`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""] if node.level == 0 else []
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "importorskip")):
        return [given.value for given in node.args if isinstance(given, ast.Constant) and isinstance(given.value, str)]
    return []


@cache
def imported(folder: str) -> Mapping[str, set[str]]:
    """Top-level module -> files of `folder` that import it; the standard library is left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted((REPOSITORY / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            for module in modules_of(node):
                found[module.partition(".")[0]].add(str(file.relative_to(REPOSITORY)))
    return {module: files for module, files in found.items() if module not in sys.stdlib_module_names}


@pytest.mark.parametrize("folder", FOLDERS)
def test_everything_that_is_imported_is_declared(folder: str) -> None:
    allowed = set[str]().union(*map(declared, FOLDERS[folder]))
    ours = {"layoutray", "pipelines"} if folder in ("layoutray", "pipelines") else set(FOLDERS)
    undeclared = {
        module: files
        for module, files in imported(folder).items()
        if module not in ours and not distributions().get(module, set()) & allowed
    }
    assert undeclared == {}


def used(group: str) -> set[str]:
    """The distributions that the folders of a group import."""
    folders = [folder for folder, groups in FOLDERS.items() if group in groups]
    if group == CORE:
        folders = ["layoutray", "pipelines"]
    return {name for folder in folders for module in imported(folder) for name in distributions().get(module, set())}


@pytest.mark.parametrize("group", [CORE, *EXTRAS])
def test_everything_that_is_declared_is_used(group: str) -> None:
    assert declared(group) - used(group) - NAMED.keys() == set()


def place(file: str) -> Path:
    """A file of the repository, or of an installed package."""
    if not file.startswith("site-packages/"):
        return REPOSITORY / file
    package, _, rest = file.removeprefix("site-packages/").partition("/")
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / rest


@pytest.mark.parametrize("name", NAMED)
def test_what_no_import_names_is_used_where_the_table_says(name: str) -> None:
    file, text = NAMED[name]
    assert text in place(file).read_text()
    assert any(name in declared(group) for group in (CORE, *EXTRAS))


def test_every_extra_is_explained() -> None:
    guide = (REPOSITORY / "docs/install.md").read_text().partition("## Extras")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", guide, re.M)) == set(EXTRAS)


def test_every_declared_distribution_is_pinned() -> None:
    pinned = {normal(line.partition("==")[0]) for line in (REPOSITORY / "constraints.txt").read_text().split()}
    assert set[str]().union(*map(declared, (CORE, *EXTRAS))) - pinned == set()
