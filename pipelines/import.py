"""Converts a released model: `python -m pipelines.import` is `layoutray import`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["import", *sys.argv[1:]]))
