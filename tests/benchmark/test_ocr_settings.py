from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.benchmark.ocr_settings import HEADING, Sample, annotated_pictures, born_digital_pages, measure, variants
from layoutray.ocr.settings import Recognition
from tests.ocr.files import encoded, picture

pytestmark = pytest.mark.ocr

WORDS = "the apples and oranges are sold\nat market stalls near the river\nevery morning before seven"


def sample(truth: str) -> Sample:
    return Sample(encoded(picture(WORDS), "PNG"), 1, tuple(truth.split()))


def test_each_variant_is_another_one() -> None:
    choices = variants()
    assert choices["default"] == Recognition()
    assert len(set(choices.values())) == len(choices)


def test_order_counts_apart_from_words() -> None:
    backwards = " ".join(reversed(WORDS.split()))
    (forth,) = measure("page", [sample(WORDS)], {"default": Recognition()})
    (back,) = measure("page", [sample(backwards)], {"default": Recognition()})
    assert (forth.recall, forth.precision, forth.in_order) == (1, 1, 1)
    assert (back.recall, back.precision, back.in_order) == (1, 1, 0)


def test_unreadable_settings_find_less() -> None:
    default = Recognition()
    tiny = replace(default, preprocessing=replace(default.preprocessing, width=60))
    good, bad = measure("page", [sample(WORDS)], {"default": default, "tiny": tiny})
    assert bad.recall < 0.5 < good.recall
    assert len(good.cells()) == len(HEADING)


def test_receipts_are_sampled_with_their_words(data_root: Path) -> None:
    samples = annotated_pictures("sroie", str(data_root / "sroie" / "SROIE2019"), "test", 3)
    assert len(samples) == 3
    assert all(len(sample.truth) > 10 for sample in samples)
    (row,) = measure("sroie", samples, {"default": Recognition()})
    assert row.recall > 0.6


def test_the_text_layer_is_the_truth_of_born_digital_pages(data_root: Path) -> None:
    samples = born_digital_pages(str(data_root / "kleister-nda" / "documents"), 1)
    (row,) = measure("nda", samples, {"default": Recognition()})
    assert row.recall > 0.9
