"""`layoutray dead-letters list`: counts by stage and reason on stderr, each dead letter as a line of JSON on stdout."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.dead_letter_filter import DeadLetterFilter, add_filter_options


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("dead-letters list")
    add_filter_options(parser)
    chosen = options.parse(parser, arguments, DeadLetterFilter)
    letters = chosen.select()
    counts = Counter((letter.stage, letter.reason, letter.retryable) for letter in letters)
    rows = [
        (stage, reason, "yes" if retryable else "no", count)
        for (stage, reason, retryable), count in counts.most_common()
    ]
    title = f"{len(letters)} dead letters in {chosen.folder}"
    terminal.show_table(title, ("stage", "reason", "retryable", "count"), rows)
    for letter in letters:
        values = {name: value for name, value in asdict(letter).items() if name != "trace"}
        sys.stdout.write(json.dumps(values, ensure_ascii=False) + "\n")
    return 0
