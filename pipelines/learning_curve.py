"""Draws a learning curve: `python -m pipelines.learning_curve` is `layoutray learning-curve`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["learning-curve", *sys.argv[1:]]))
