"""Trains with several values of a key: `python -m pipelines.sweep` is `layoutray sweep`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["sweep", *sys.argv[1:]]))
