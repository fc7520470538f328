"""Trains on a folder: `python -m pipelines.train` is `layoutray train`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
