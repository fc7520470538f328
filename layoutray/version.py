"""The version of the installed package, made from the newest tag of git and the commit when it was built."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("layoutray")
    except PackageNotFoundError:  # the files alone, on the path of a Python
        return "0.0.0+unknown"


VERSION = _installed()
"""An editable installation has the version of the day on which it was installed."""
