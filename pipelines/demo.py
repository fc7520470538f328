"""Runs the demo: `python -m pipelines.demo` is `layoutray demo`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["demo", *sys.argv[1:]]))
