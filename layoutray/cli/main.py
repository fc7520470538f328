"""The console command `layoutray`: finds the verb and runs it. Imports a verb only when it is called."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from layoutray.cli.verbs import GROUPS, VERBS, needs_extra

_HELP = ("-h", "--help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the verb that the first arguments name. Returns the exit status: 2 if there is no such verb."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    known = {name: verb.summary for name, verb in VERBS.items() if " " not in name} | GROUPS
    if not given or given[0] in _HELP:
        return _show_help("VERB", known, asked=bool(given))
    if given == ["--version"]:
        from layoutray.version import VERSION  # read from files

        sys.stdout.write(f"layoutray {VERSION}\n")
        return 0
    name, *rest = given
    if name in GROUPS:
        known = {verb.partition(" ")[2]: VERBS[verb].summary for verb in VERBS if verb.startswith(f"{name} ")}
        if not rest or rest[0] in _HELP:
            return _show_help(f"{name} NAME", known, asked=bool(rest))
        name, rest = f"{name} {rest[0]}", rest[1:]
    if name not in VERBS:
        near = get_close_matches(name.rpartition(" ")[2], known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        sys.stderr.write(f"error: unknown verb {name!r}{hint}; known: {', '.join(known)}\n")
        return 2
    from layoutray.cli.shared import terminal  # not needed for `--help`

    def verb() -> int:
        module, _, function = VERBS[name].function.partition(":")
        with needs_extra(name):
            return getattr(importlib.import_module(module, __package__), function)(rest)

    return terminal.run(verb)


def _show_help(usage: str, commands: Mapping[str, str], *, asked: bool) -> int:
    width = max(map(len, commands))
    hint = f"layoutray {usage} --help lists the options, layoutray --version prints the version"
    lines = [f"usage: layoutray {usage} [OPTIONS]   ({hint})", ""]
    lines += [f"  {name:<{width}}  {summary}" for name, summary in commands.items()]
    (sys.stdout if asked else sys.stderr).write("\n".join(lines) + "\n")
    return 0 if asked else 2
