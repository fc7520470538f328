"""Draws pages with known values: `python -m pipelines.synthesize` is `layoutray synthesize`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["synthesize", *sys.argv[1:]]))
