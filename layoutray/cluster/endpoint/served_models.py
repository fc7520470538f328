"""The models of an endpoint: the default one, and others that the operator has named."""

import re
from collections.abc import Iterator, Mapping, Sequence

from layoutray.cluster.endpoint.served_version import ServedVersion, VersionOnDemand
from layoutray.errors import InputError
from layoutray.serving.failures import ApiError

DEFAULT = ""
"""Name of the default model."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ServedModels:
    """The served version of each model.

    Args:
        others: those that are not the default one, by name.
    """

    def __init__(self, default: ServedVersion, others: Mapping[str, VersionOnDemand]) -> None:
        self.default = default
        self._others = others

    @property
    def names(self) -> Sequence[str]:
        """Names of all models, that of the default one first."""
        return [DEFAULT, *self._others]

    def others(self) -> Iterator[tuple[str, ServedVersion]]:
        """The models that are not the default one, by name."""
        return iter(self._others.items())

    def of(self, name: str) -> ServedVersion:
        """The served version of a model. Raises ApiError (404) when there is no such model."""
        if name == DEFAULT:
            return self.default
        if name not in self._others:
            known = ", ".join(self._others) or "none but the default one"
            message = f"there is no model {name[:64]!r}; models with a name: {known}"
            raise ApiError(404, "unknown_model", message, retryable=False)
        return self._others[name]


def check_names(models: Mapping[str, str]) -> None:
    """Raise InputError when a name does not fit into a path."""
    for name in models:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r} cannot be the name of a model; use 1 to 64 letters, digits, dots, dashes and underscores, "
                "and begin with a letter or digit"
            )
