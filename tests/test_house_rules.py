"""The house rules that a program can check; CONTRIBUTING.md has them in words."""

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import layoutray

REPOSITORY = Path(__file__).resolve().parents[1]
SHIPPED = ("layoutray", "pipelines")
CHECKED = (*SHIPPED, "benchmarks")
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
MAX_FUNCTION_LINES_P90 = 35
MAX_PARAMETERS = 6
MAX_POSITIONAL_FIELDS = 4

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (REPOSITORY / folder).rglob("*.py"))


def name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def functions(*folders: str) -> Iterator[tuple[str, FunctionNode]]:
    """Every function with its place, e.g. `layoutray/errors.py:70 retryable`."""
    for path in sources(*folders):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, FunctionNode):
                yield f"{name(path)}:{node.lineno} {node.name}", node


def length(function: FunctionNode) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def num_parameters(function: FunctionNode) -> int:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return len([parameter for parameter in every if parameter.arg not in {"self", "cls"}])


def tracked_texts() -> Iterator[tuple[str, str]]:
    """Every file that is, or would be, committed, with its text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    for path in filter(None, listed.stdout.split("\0")):
        try:
            yield path, (REPOSITORY / path).read_text()
        except (UnicodeDecodeError, FileNotFoundError):  # pictures; files deleted but not yet committed
            continue


def test_files_answer_one_question() -> None:
    lengths = {name(path): len(path.read_text().splitlines()) for path in sources(*CHECKED, "tests")}
    assert {path: lines for path, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_functions_are_short() -> None:
    lengths = {place: length(function) for place, function in functions(*CHECKED, "tests")}
    assert {place: lines for place, lines in lengths.items() if lines > MAX_FUNCTION_LINES} == {}


def test_nine_of_ten_functions_fit_half_a_screen() -> None:
    lengths = [length(function) for _, function in functions(*CHECKED)]
    assert statistics.quantiles(lengths, n=10)[-1] <= MAX_FUNCTION_LINES_P90


def test_functions_take_few_parameters() -> None:
    # A function of the Python API has the options of its verb.
    api = {f"layoutray/{place.replace('.', '/').replace(':', '.py ')}" for place in layoutray.PLACES.values()}
    counts = {
        place: num_parameters(function)
        for place, function in functions(*CHECKED)
        if re.sub(r":\d+", "", place) not in api
    }
    assert {place: count for place, count in counts.items() if count > MAX_PARAMETERS} == {}


def dataclass_decorator(node: ast.ClassDef) -> ast.expr | None:
    return next((one for one in node.decorator_list if ast.unparse(one).startswith("dataclass")), None)


def test_dataclasses_of_many_fields_are_keyword_only() -> None:
    wide = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in sources(*CHECKED)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and (decorator := dataclass_decorator(node)) is not None
        if sum(isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation) for one in node.body)
        > MAX_POSITIONAL_FIELDS
        if "kw_only=True" not in ast.unparse(decorator)
    ]
    assert wide == []


def test_modules_are_named_for_what_they_hold() -> None:
    vague = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc"}
    assert [name(path) for path in sources(*CHECKED) if vague & set(path.stem.split("_"))] == []


FORBIDDEN_CALLS = {
    "print": "return a value or use logging",
    "torch.load": "weights are safetensors; a torch file of others is read with weights_only=True",
    "pickle.load": "a file can run any code when it is unpickled",
    "pickle.loads": "bytes can run any code when they are unpickled",
}


def test_nothing_prints_or_unpickles_in_the_package() -> None:
    calls = (
        (name(path), node.lineno, ast.unparse(node.func))
        for path in sources("layoutray")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and "weights_only=True" not in map(ast.unparse, node.keywords)
    )
    assert [(*call, FORBIDDEN_CALLS[call[-1]]) for call in calls if call[-1] in FORBIDDEN_CALLS] == []


def test_nothing_is_left_for_later() -> None:
    mark = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
    assert [(name(path), found[0]) for path in sources(*CHECKED) if (found := mark.search(path.read_text()))] == []


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"(?<![\w.~-])/(work|root)/|(?<![\w.~-])/home/\w", id="a folder of one machine"),
        pytest.param(
            r"p[y]pi\.org|python[h]osted|npm[j]s\.|download\.py[t]orch|deb\.deb[i]an", id="the host of a registry"
        ),
    ],
)
def test_no_file_knows(pattern: str) -> None:
    found = [(path, match[0]) for path, text in tracked_texts() if (match := re.search(pattern, text))]
    assert found == []


def test_importing_the_documents_stays_light() -> None:
    heavy = ("torch", "ray", "mlflow", "transformers", "pyarrow", "cv2", "pandas", "scipy", "pydantic")
    program = f"import sys, layoutray, layoutray.document; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_torch_is_pinned_so_that_every_build_fits() -> None:
    pins = (REPOSITORY / "constraints.txt").read_text().split()
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == [], (
        "only name==version: no build tag, no address"
    )
    assert any(pin.startswith("torch==") for pin in pins)
