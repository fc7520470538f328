"""Measure ours beside a peer's in one run: `layoutray benchmark NAME …`."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from pipelines import _terminal as terminal

_PREFIX = "_benchmark_"


def main(arguments: Sequence[str] | None = None) -> int:
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or [""]
    files = {file.stem.removeprefix(_PREFIX).replace("_", "-"): file.stem for file in Path(__file__).parent.glob(f"{_PREFIX}*.py")}
    if name not in files:
        terminal.say(f"usage: layoutray benchmark NAME …   (NAME --help says more)\n  NAME is one of {', '.join(sorted(files))}")
        return 0 if name in ("-h", "--help") else 2
    return importlib.import_module(f"pipelines.{files[name]}").main(rest)


if __name__ == "__main__":
    sys.exit(terminal.run(main))
