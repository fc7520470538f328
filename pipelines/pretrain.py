"""Trains on unlabelled pages: `python -m pipelines.pretrain` is `layoutray pretrain`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["pretrain", *sys.argv[1:]]))
