"""Measures a checkpoint: `python -m pipelines.evaluate` is `layoutray evaluate`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
