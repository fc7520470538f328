"""Turns pages into training examples: `python -m pipelines.encode` is `layoutray encode`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["encode", *sys.argv[1:]]))
