"""The reverse of an import: our weights under the names of a release."""

from collections.abc import Mapping

from torch import Tensor

from layoutray.nn.weight_names import NameTable


def state_to_theirs(names: NameTable, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of our parameters under their names, without those that they do not have."""
    return {names.to_theirs(name): tensor.clone() for name, tensor in state.items() if not names.is_ours_only(name)}
