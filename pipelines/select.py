"""Chooses documents to label: `python -m pipelines.select` is `layoutray select`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["select", *sys.argv[1:]]))
