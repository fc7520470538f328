"""Measure layoutray beside a peer in one run: `python -m pipelines.benchmark NAME …`."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from layoutray.cli import terminal


def main(arguments: Sequence[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or [""]
    modules = {
        file.stem.removeprefix("_benchmark_").replace("_", "-"): file.stem
        for file in Path(__file__).parent.glob("_benchmark_*.py")
    }
    if name not in modules:
        terminal.say(f"usage: python -m pipelines.benchmark NAME …   NAME is one of {', '.join(sorted(modules))}")
        return 0 if name in ("-h", "--help") else 2
    return importlib.import_module(f"pipelines.{modules[name]}").main(rest)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
