"""Lists the shipped recipes: `python -m pipelines.recipes` is `layoutray recipes`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["recipes", *sys.argv[1:]]))
