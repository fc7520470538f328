"""Serves a model over HTTP: `python -m pipelines.serve` is `layoutray serve`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["serve", *sys.argv[1:]]))
