"""Names under which MLflow's UI groups metrics into sections."""

import pytest

from layoutray.tracking import metric_names


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("loss", "train/loss"),
        ("learning_rate", "train/learning_rate"),
        ("tokens_per_second", "speed/tokens_per_second"),
        ("mfu", "speed/mfu"),
        ("dev.f1", "dev/f1"),
        ("dev.f1.total", "dev by name/f1.total"),
    ],
)
def test_a_metric_of_a_training_is_in_a_section(given: str, named: str) -> None:
    assert metric_names.of_training(given) == named


def test_the_kept_checkpoint_and_each_evaluation_have_sections_of_their_own() -> None:
    assert metric_names.of_checkpoint("dev.f1") == "dev best/f1"
    assert metric_names.of_checkpoint("dev.f1.total") == "dev best by name/f1.total"
    assert metric_names.of_evaluation("test", "tesserocr", "f1") == "test tesserocr/f1"
    assert metric_names.of_evaluation("test", "annotation", "f1.total") == "test annotation by name/f1.total"
    assert metric_names.of_evaluation("dev", "", "f1") == "dev/f1"


def test_columns_begin_with_what_matters_first() -> None:
    names = [
        "speed/mfu",
        "train/loss",
        "data/pages",
        "dev best/f1",
        "speed/minutes",
        "dev/f1",
        "test tesserocr/precision",
    ]
    names += ["test tesserocr/accepted_at_99", "test tesserocr/f1", "test tesserocr by name/f1.total"]
    names += ["test annotation/f1", "speed/tokens_per_second", "test tesserocr/field_f1", "dev best/precision"]
    assert metric_names.headlines(names) == [
        "test tesserocr/field_f1",
        "test annotation/f1",
        "test tesserocr/f1",
        "test tesserocr/accepted_at_99",
        "dev best/f1",
        "speed/minutes",
        "speed/tokens_per_second",
        "speed/mfu",
        "data/pages",
    ]
