"""Shows answers to be corrected: `python -m pipelines.review` is `layoutray review`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["review", *sys.argv[1:]]))
