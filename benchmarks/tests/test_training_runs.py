"""Which tables a benchmark of many trainings shows."""

import pytest

from benchmarks.training_runs import tables

SYSTEMS = {"encoders": ["Plain", "Shared"], "scorers": ["Shared", "Random"]}


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        (["Plain", "Shared", "Random"], {"encoders": ["Plain", "Shared"], "scorers": ["Shared", "Random"]}),
        (["Plain", "Shared"], {"encoders": ["Plain", "Shared"]}),
        (["Shared", "Random"], {"scorers": ["Shared", "Random"]}),
        (["Plain", "Random"], {"encoders": ["Plain"], "scorers": ["Random"]}),
        (["Shared"], {"encoders": ["Shared"]}),
    ],
)
def test_a_table_is_left_out_if_another_contains_its_rows(chosen: list[str], shown: dict[str, list[str]]) -> None:
    scores = {name: {1: {"f1": 0.5}} for name in chosen}
    assert {title: list(rows) for title, rows in tables(scores, SYSTEMS).items()} == shown
