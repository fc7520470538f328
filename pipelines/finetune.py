"""Trains a model for a task: `python -m pipelines.finetune` is `layoutray finetune`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["finetune", *sys.argv[1:]]))
