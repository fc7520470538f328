"""Turns documents into pages: `python -m pipelines.ingest` is `layoutray ingest`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["ingest", *sys.argv[1:]]))
