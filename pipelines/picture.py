"""Draws pictures: `python -m pipelines.picture` is `layoutray picture`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["picture", *sys.argv[1:]]))
