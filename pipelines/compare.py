"""Compares recipes: `python -m pipelines.compare` is `layoutray compare`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["compare", *sys.argv[1:]]))
