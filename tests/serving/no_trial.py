"""Versions that are loaded without a trial, which takes seconds."""

from layoutray.serving.model import Loader, Version


def no_trial(loader: Loader, version: Version) -> None:
    """Let every version pass."""
