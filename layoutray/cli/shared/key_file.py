"""The key file that the verbs of `layoutray keys` work on."""

import argparse
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from layoutray.cli.shared import options
from layoutray.serving.access.keys import KeyStore


@dataclass(frozen=True, kw_only=True)
class KeyFile:
    """Option that names the key file."""

    keys: str

    @contextmanager
    def opened(self, *, create: bool = False) -> Generator[KeyStore]:
        """The keys of the file, during the `with` block. Raises InputError: see `open_database`."""
        with closing(KeyStore.open(self.keys, create=create)) as store:
            yield store


def add_key_file(parser: argparse.ArgumentParser) -> None:
    """The field of `KeyFile`."""
    parser.add_argument(
        "--keys",
        type=options.local_file,
        metavar="FILE",
        default="keys.db",
        help="key file, given also to `layoutray serve` (default: %(default)s)",
    )
