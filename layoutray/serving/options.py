"""Options of `layoutray serve`, declared where the settings are."""

from dataclasses import field
from typing import Any

_KINDS = {bool: {"action": "store_true"}, tuple: {"nargs": "+"}, dict: {"action": "append", "default": []}}
"""How an option gives a truth value, several texts, or a mapping, as texts `KEY=VALUE`."""


def option(flag: str, default: Any, help_text: str, *, is_path: bool = False, **more: Any) -> Any:
    """A field with a default, and with the option that sets it, as `cli.shared.options.option` declares options.

    Args:
        default: `dict` for a mapping that is empty.
        is_path: whether other processes, with other working folders, open the file that it names.
        more: keywords of `argparse.ArgumentParser.add_argument`.
    """
    kind = dict if default is dict else type(default)
    usual: dict[str, Any] = {"type": kind, "metavar": flag.removeprefix("--").upper()}
    settings = {"help": help_text, "default": default} | _KINDS.get(kind, usual) | more
    metadata = {"flags": (flag,), "group": "", "settings": settings, "is_path": is_path}
    return field(default_factory=dict, metadata=metadata) if kind is dict else field(default=default, metadata=metadata)
