"""Measures OCR on this machine: `python -m pipelines.benchmark` is `layoutray benchmark`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["benchmark", *sys.argv[1:]]))
