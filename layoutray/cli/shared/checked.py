"""Types of options: what a value may be, checked when the command line is parsed.

Each is for `type=` of an option, and raises argparse's error for a value that is not allowed.
"""

import argparse
import math
import os
from collections.abc import Sequence
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


def share(text: str) -> float:
    """`type=` of an option between 0 and 1. Raises argparse's error for anything else."""
    if not 0 <= (value := _number(text)) <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; give a number from 0 to 1, e.g. 0.01 for 1 %")
    return value


def positive(text: str) -> int:
    """`type=` of an option that counts from 1. Raises argparse's error for anything else."""
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {_MOST}; give e.g. 20")
    return int(text)


def whole(text: str) -> int:
    """`type=` of an option that counts from 0. Raises argparse's error for anything else."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0; give e.g. 4")
    return int(text)


def port(text: str) -> int:
    """`type=` of `--port`. Raises argparse's error for anything else."""
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535, e.g. 8010")
    return int(text)


def gpu_share(text: str) -> float:
    """`type=` of an option for GPUs, or parts of one. Raises argparse's error for anything else."""
    if not 0 <= (value := _number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of GPUs; give 0, a part such as 0.5, or more")
    return value


def positive_number(text: str) -> float:
    """`type=` of an option that is a finite number above 0. Raises argparse's error for anything else."""
    if not 0 < (value := _number(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0; give e.g. 2.5")
    return value


def _number(text: str) -> float:
    """NaN for what is not a number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


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
