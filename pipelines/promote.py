"""Moves the champion forward: `python -m pipelines.promote` is `layoutray promote`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["promote", *sys.argv[1:]]))
