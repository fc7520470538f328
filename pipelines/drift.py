"""Says whether documents have changed: `python -m pipelines.drift` is `layoutray drift`, for `ray job submit`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["drift", *sys.argv[1:]]))
