"""Moves the champion back: `python -m pipelines.rollback` is `layoutray rollback`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["rollback", *sys.argv[1:]]))
