"""Run a benchmark: `python -m benchmarks NAME …`; without a name, list the benchmarks."""

import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from layoutray.cli.shared import terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark that the first argument names; exit status 2 for an unknown name."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    known = benchmarks()
    if not given or given[0] in ("-h", "--help"):
        width = max(map(len, known))
        lines = [f"  {name:<{width}}  {summary}" for name, summary in known.items()]
        terminal.say("\n".join(["usage: python -m benchmarks NAME …   (NAME --help lists its options)", "", *lines]))
        return 0
    name, *rest = given
    if name not in known:
        terminal.say(f"error: unknown benchmark {name!r}; choose one of {', '.join(known)}")
        return 2
    module = importlib.import_module(f"benchmarks.commands.{name.replace('-', '_')}")
    return terminal.run(lambda: module.main(rest))


def benchmarks() -> dict[str, str]:
    """Names of all benchmarks with the first line of their modules' docstrings; the modules are not imported."""
    files = sorted((Path(__file__).parent / "commands").glob("[!_]*.py"))
    return {file.stem.replace("_", "-"): _first_line(file) for file in files}


def _first_line(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
