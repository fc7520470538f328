"""Chooses thresholds: `python -m pipelines.calibrate` is `layoutray calibrate`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["calibrate", *sys.argv[1:]]))
