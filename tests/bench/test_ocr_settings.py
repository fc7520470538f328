from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.bench.ocr_settings import HEADING, Sample, annotated_pictures, born_digital_pages, measure, variants
from layoutray.ocr.settings import Recognition
from tests.ocr.files import encoded, picture

pytestmark = pytest.mark.ocr

LEFT, RIGHT = "apples\noranges\ncherries\nwalnuts", "tables\nbenches\nstools\ncupboards"


def two_columns() -> Sample:
    page = picture(LEFT, size=(1200, 700))
    page.paste(picture(RIGHT, size=(500, 700), at=(0, 100)), (700, 0))
    return Sample(encoded(page, "PNG"), 1, (*LEFT.split(), *RIGHT.split()))


def test_each_variant_is_another_one() -> None:
    choices = variants()
    assert choices["default"] == Recognition()
    assert len(set(choices.values())) == len(choices)


def test_reading_across_columns_costs_order_and_nothing_else() -> None:
    default = Recognition()
    choices = {f"psm {mode}": replace(default, tesseract=replace(default.tesseract, psm=mode)) for mode in (6, 3)}
    across, by_column = measure("columns", [two_columns()], choices)
    assert (across.recall, across.precision) == (1, 1)
    assert by_column.recall == 1
    assert by_column.in_order == 1
    assert across.in_order < 0.2


def test_unreadable_settings_find_less() -> None:
    default = Recognition()
    tiny = replace(default, preprocessing=replace(default.preprocessing, width=120))
    good, bad = measure("columns", [two_columns()], {"default": default, "tiny": tiny})
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
