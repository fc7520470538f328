"""Manages the keys of the endpoint: `python -m pipelines.keys` is `layoutray keys`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["keys", *sys.argv[1:]]))
