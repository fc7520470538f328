"""The texts of generated pages, from the TOML files of this folder."""

import importlib.resources
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from layoutray import config

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl", "pt", "tr")

Wordings = Mapping[str, Mapping[str, Sequence[str]]]
"""Kind -> language -> wordings."""


@cache
def data(name: str) -> dict[str, Any]:
    """The content of `name`.toml of this folder."""
    return config.read_toml(importlib.resources.files("layoutray") / "synthetic" / f"{name}.toml")


def wordings() -> Wordings:
    """How each language names the kinds of values of a document, as printed or asked for, the most usual one first."""
    return data("wordings")
