"""Answers fields by their names: `python -m pipelines.answer` is `layoutray answer`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["answer", *sys.argv[1:]]))
