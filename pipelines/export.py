"""Exports pages to other programs: `python -m pipelines.export` is `layoutray export`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["export", *sys.argv[1:]]))
