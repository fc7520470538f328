"""Each dependency is declared where it is used: nothing undeclared is imported, nothing unused is declared."""

import ast
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import grimp
import pytest

from layoutray.cli.verbs import EXTRAS as EXTRAS_OF_VERBS
from layoutray.cli.verbs import VERBS

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
CORE = "dependencies"

FOLDERS = {
    "layoutray": {CORE, "all", "postgresql"},
    "pipelines": {CORE},
    "benchmarks": {CORE, "all", "benchmarks", "pretrained", "dev"},
    "tests": {CORE, "all", "pretrained", "dev"},
    "docs": {CORE, "all", "docs", "dev"},
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
        extras = re.findall(r"\[(.*)\]", requirement)[0].split(",") if name == "layoutray" else ()
        found |= set[str]().union(*map(declared, extras)) if extras else {name}
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


MORE_OF_RAY = {("ray", "train"), ("ray", "serve")}
"""Requirements that add only extras of Ray to those of another group."""

LATER = {
    ("layoutray.cli.ingest", "layoutray.prepare.truth_check"): "for labelled data, whose labels train",
    ("layoutray.cli.shared.ingest_summary", "layoutray.prepare.truth_check"): "a type",
    ("layoutray.cluster.connect", "layoutray.devices"): "to count GPUs, by verbs that use them",
    ("layoutray.document.filters", "py3langid"): "by `encode`, for a recipe that filters languages",
    ("layoutray.document.word_graph", "scipy"): "by `encode` and models, for an encoder that uses the graph",
    ("layoutray.prepare.language", "py3langid"): 'for `language = "auto"`',
    ("layoutray.serving.jobs.postgresql", "psycopg"): "for a ledger in PostgreSQL",
    ("layoutray.tracking.client", "mlflow"): "for models:/",
    ("layoutray.tracking.client", "sqlalchemy"): "for models:/",
    ("layoutray.tracking.registered", "mlflow"): "for models:/",
}
"""Imports inside functions that most callers do not reach, which need another extra than their verb's."""


@cache
def graph() -> grimp.ImportGraph:
    made = grimp.build_graph("layoutray", include_external_packages=True)
    for importer, module in LATER:
        made.remove_import(importer=importer, imported=module)
    return made


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_imports_only_the_dependencies_and_its_extra(verb: str) -> None:
    module = "layoutray.cli" + VERBS[verb].function.partition(":")[0]
    imported = graph().find_upstream_modules(module) - sys.stdlib_module_names
    extras = [extra for extra, verbs in EXTRAS_OF_VERBS.items() if verb in verbs]
    allowed = set[str]().union(*map(declared, (CORE, *extras)))
    missing = {
        name: graph().find_shortest_chain(module, name)
        for name in imported
        if not name.startswith("layoutray") and not distributions().get(name, set()) & allowed
    }
    assert missing == {}


def test_a_model_answers_without_the_packages_of_its_training() -> None:
    """A registry loads tasks by name, so the graph of imports does not show what they import.

    PyTorch's compiler and sympy take 1.5 s.
    """
    program = (
        "import sys; from layoutray import checkpoint, start, tasks; tasks.load('entities'); "
        "checkpoint.load(start.FOLDER); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert not {"seqeval", "sklearn", "rouge_score", "matplotlib", "mlflow", "torch._dynamo", "sympy"} & {*loaded}


_HELP_OF_ALL = """
import contextlib, io, sys
from layoutray.cli.main import main
from layoutray.cli.verbs import VERBS
for verb in VERBS:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([*verb.split(), "--help"])
    if heavy := {"torch", "ray", "mlflow", "transformers", "pandas", "fastapi", "scipy"} & sys.modules.keys():
        sys.exit(f"{verb} imports {heavy}")
"""


def test_no_help_imports_what_takes_seconds() -> None:
    found = subprocess.run([sys.executable, "-c", _HELP_OF_ALL], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_verbs_need_one_extra_at_most() -> None:
    named = [verb for verbs in EXTRAS_OF_VERBS.values() for verb in verbs]
    assert len(named) == len({*named})
    assert {*named} <= VERBS.keys()


def used(group: str) -> set[str]:
    """The distributions that the folders of a group import."""
    folders = [folder for folder, groups in FOLDERS.items() if group in groups]
    if group in (CORE, *EXTRAS_OF_VERBS):
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


def test_every_dependency_has_a_reason() -> None:
    guide = (REPOSITORY / "CONTRIBUTING.md").read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+)\|([^|]*)\| [^|]+ \|$", guide, re.M)
    stated = {
        (name, extra)
        for names, extras in rows
        for name in re.findall(r"`([\w-]+)`", names)
        for extra in re.findall(r"`([\w-]+)`", extras) or [CORE]
    }
    own = {
        (normal(re.split(r"[\[<>=]", requirement)[0]), group)
        for group in (CORE, *EXTRAS_OF_VERBS)
        for requirement in (PROJECT[CORE] if group == CORE else EXTRAS[group])
    }
    assert stated == {(name, group) for name, group in own if name != "layoutray" and (name, group) not in MORE_OF_RAY}


def test_every_declared_distribution_is_pinned() -> None:
    pinned = {normal(line.partition("==")[0]) for line in (REPOSITORY / "constraints.txt").read_text().split()}
    assert set[str]().union(*map(declared, (CORE, *EXTRAS))) - pinned == set()
