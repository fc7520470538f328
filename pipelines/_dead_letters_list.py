"""Dead letters, counted by stage and reason on stderr; each as a line of JSON, without its trace, on stdout."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from pipelines import _dead_letters as dead_letters
from pipelines import _terminal as terminal


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray dead-letters list", description=__doc__)
    dead_letters.add_options(parser)
    options = parser.parse_args(arguments)
    letters = dead_letters.chosen(options)
    counts = Counter((letter.stage, letter.reason, letter.retryable) for letter in letters)
    rows = [
        (stage, reason, "yes" if retryable else "no", count)
        for (stage, reason, retryable), count in counts.most_common()
    ]
    terminal.show_table(
        f"{len(letters)} dead letters in {options.folder}", ("stage", "reason", "retryable", "count"), rows
    )
    for letter in letters:
        sys.stdout.write(
            json.dumps({name: value for name, value in asdict(letter).items() if name != "trace"}, ensure_ascii=False)
            + "\n"
        )
    return 0
