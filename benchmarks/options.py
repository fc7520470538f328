"""Types of command-line options."""

import argparse
from pathlib import Path


def png_file(text: str) -> Path:
    """For `type=` of an option. Raises argparse's error unless `text` is a local path that ends in .png."""
    if "://" in text or not text.endswith(".png"):
        raise argparse.ArgumentTypeError(f"{text!r} must be a path on this machine that ends in .png")
    return Path(text)
