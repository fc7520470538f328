"""Types of options: what a value may be, checked when the command line is parsed.

Each is for `type=` of an option, and raises argparse's error for a value that is not allowed.
"""

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_MOST = 2**31 - 1
_PROCESSES = Path("/proc")
"""No folder for files, although a user such as root may seem to be allowed to write there."""


def local_folder(text: str) -> Path:
    """`type=` of an option for a local folder. Raises argparse's error for an address, which `Path` would accept."""
    if "://" in text:
        raise argparse.ArgumentTypeError(f"{text} is an address; it must be a path on a local disk")
    return Path(text)


def local_file(text: str) -> str:
    """`type=` of an option for a local file: its absolute path; empty stays empty. Errors as `local_folder`."""
    return str(local_folder(text).absolute()) if text else ""


def _whole_number(least: int, most: int, what: str) -> Callable[[str], int]:
    """`type=` of an option that is a whole number from `least` to `most`; the error says `what` it has to be."""

    def check(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return int(text)

    return check


def _number(allows: Callable[[float], bool], what: str) -> Callable[[str], float]:
    """`type=` of an option that is a finite number; the error says `what` it has to be."""

    def check(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and allows(value)):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return value

    return check


positive = _whole_number(1, _MOST, f"a number from 1 to {_MOST}; give e.g. 20")
whole = _whole_number(0, sys.maxsize, "a number from 0; give e.g. 4")
port = _whole_number(1, 65535, "a port; give a number from 1 to 65535, e.g. 8010")
share = _number(lambda value: 0 <= value <= 1, "a share; give a number from 0 to 1, e.g. 0.01 for 1 %")
gpu_share = _number(lambda value: value >= 0, "a number of GPUs; give 0, a part such as 0.5, or more")
positive_number = _number(lambda value: value > 0, "a number above 0; give e.g. 2.5")


def report_name(text: str) -> str:
    """`type=` of `--json` and `--csv`. Raises argparse's error, before any work, for a file that cannot be written."""
    if "://" in text:
        return text
    if not text or Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder; give a file")
    file = Path(text).absolute()
    nearest = next(one for one in (file, *file.parents) if one.exists())
    writable = os.W_OK | (os.X_OK if nearest.is_dir() else 0)
    is_below_file = nearest != file and not nearest.is_dir()
    if is_below_file or not os.access(nearest, writable) or _PROCESSES in file.parents:
        raise argparse.ArgumentTypeError(f"{text} cannot be written; give another file")
    return text


def picture_file(text: str, suffixes: Sequence[str]) -> Path:
    if not text.endswith(tuple(suffixes)):
        allowed = " or ".join(suffixes)
        raise argparse.ArgumentTypeError(f"{text} does not end in {allowed}; give a file name that does")
    return local_folder(text)
