"""Extracts in bulk: `python -m pipelines.predict` is `layoutray predict`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["predict", *sys.argv[1:]]))
