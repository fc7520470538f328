from pathlib import Path

import pytest

from layoutray import architectures, config, registry
from layoutray.errors import InputError
from tests.architectures.contract import CONTRACT

NAMES = registry.names("layoutray.architectures", "ARCHITECTURE")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
def test_tiny_size_keeps(promise, name: str, tmp_path: Path) -> None:
    architecture = architectures.load(name)
    promise(architecture, architecture.sizes["tiny"], tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_module_and_architecture_share_a_name_and_the_usual_sizes(name: str) -> None:
    architecture = architectures.load(name)
    assert architecture.name == name
    assert {"tiny", "small", "base"} <= architecture.sizes.keys()


@pytest.mark.parametrize("name", NAMES)
def test_configurations_survive_being_written_down(name: str) -> None:
    architecture = architectures.load(name)
    for size in architecture.sizes.values():
        assert config.build(architecture.config, config.to_dict(size)) == size


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("field", "value"), [("layers", 0), ("hidden", -1), ("dropout", 1.0), ("dropout", -0.1), ("max_length", 0)]
)
def test_impossible_values_are_refused_by_name(name: str, field: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"{field} is {value}"):
        architectures.load(name).config(**{field: value})


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="skimformer"):
        architectures.load("skimformr")
