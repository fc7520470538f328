"""Options of `layoutray serve`, declared where the settings are."""

from dataclasses import Field, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """How `layoutray serve` takes a setting.

    Attributes:
        flag: empty: `--` and the name of the setting.
        metavar: empty: the name of the flag.
        unit: what one of the option is in the unit of the setting.
        is_path: whether other processes, with other working folders, open the file that it names.
    """

    help: str
    flag: str = ""
    metavar: str = ""
    unit: float = 1
    is_path: bool = False

    @classmethod
    def of(cls, setting: Field[Any]) -> "Option | None":
        """How a field of `ServeSettings` or `Limits` is given; None for one that has no option."""
        return setting.metadata.get("option")


def option(default: Any, help_text: str, **more: Any) -> Any:
    """A field with a default and an option of `layoutray serve`.

    Args:
        more: attributes of `Option`.
    """
    metadata = {"option": Option(help=help_text, **more)}
    return (
        field(default_factory=dict, metadata=metadata) if default == {} else field(default=default, metadata=metadata)
    )
