"""Says what reviewed answers promise: `python -m pipelines.promise` is `layoutray promise`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["promise", *sys.argv[1:]]))
