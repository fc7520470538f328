"""Copies pages with the errors of OCR: `python -m pipelines.augment` is `layoutray augment`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["augment", *sys.argv[1:]]))
