"""Manages dead letters: `python -m pipelines.dead_letters` is `layoutray dead-letters`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["dead-letters", *sys.argv[1:]]))
