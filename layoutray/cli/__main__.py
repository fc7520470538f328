"""`python -m layoutray.cli VERB` is `layoutray VERB`."""

import sys

from layoutray.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
