import pytest
import torch

from layoutray.errors import InputError
from layoutray.nn.weight_names import NameTable

TABLE = NameTable(
    (
        ("body.block.{}.out.{}.dense", "layers.{}.parts.{}.output"),
        ("body.bias", "head.decoder.bias"),
        ("body", "encoder"),
    ),
    ("body.again", "body.block.{}.unused"),
)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("body.block.3.out.12.dense.weight", "layers.3.parts.12.output.weight"),
        ("body.bias", "head.decoder.bias"),
        ("body.weight", "encoder.weight"),
    ],
)
def test_names_go_both_ways(theirs: str, ours: str) -> None:
    assert TABLE.to_ours(theirs) == ours
    assert TABLE.to_theirs(ours) == theirs


@pytest.mark.parametrize("name", ["bodyguard.weight", "other.body.weight", ""])
def test_a_name_is_matched_from_its_start_and_by_whole_words(name: str) -> None:
    with pytest.raises(InputError, match="has no counterpart"):
        TABLE.to_ours(name)


def test_dropped_parameters_are_not_imported() -> None:
    state = {"body.weight": torch.zeros(1), "body.again": torch.zeros(1), "body.block.3.unused.bias": torch.zeros(1)}
    assert TABLE.state_to_ours(state).keys() == {"encoder.weight"}


def test_parameters_that_only_we_have_are_recognised() -> None:
    table = NameTable((("body", "encoder"),), ours_only=("head", "encoder.{}.extra"))
    assert table.is_ours_only("head.weight")
    assert table.is_ours_only("encoder.2.extra.bias")
    assert not table.is_ours_only("header.weight")
    assert not table.is_ours_only("encoder.weight")
