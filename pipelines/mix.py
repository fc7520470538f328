"""Combines sets of pages: `python -m pipelines.mix` is `layoutray mix`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["mix", *sys.argv[1:]]))
