"""The console command: `layoutray VERB …` is `python -m pipelines.VERB …`."""

import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the verb that the first argument names; exit status 2 where there is no such verb."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    known = verbs()
    if not given or given[0] in ("-h", "--help"):
        width = max(map(len, known))
        terminal.say(
            "\n".join(
                [
                    "usage: layoutray VERB …   (layoutray VERB --help says more)",
                    "",
                    *(f"  {verb:<{width}}  {says}" for verb, says in known.items()),
                ]
            )
        )
        return 0 if given else 2
    verb, *rest = given
    if verb not in known:
        terminal.say(f"error: unknown verb {verb!r}; there are {', '.join(known)}")
        return 2
    module = importlib.import_module(f"pipelines.{verb.replace('-', '_')}")
    return terminal.run(lambda: module.main(rest))


def verbs() -> dict[str, str]:
    """The verbs and what each does, from the first line of their modules, which are not imported for it."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    return {
        file.stem.replace("_", "-"): (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition(
            "\n"
        )[0]
        for file in files
    }


if __name__ == "__main__":
    sys.exit(main())
