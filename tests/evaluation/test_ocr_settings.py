from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.document import Box, Word
from layoutray.errors import RecipeError
from layoutray.evaluation.ocr_settings import (
    HEADING,
    KnownPage,
    annotated_pictures,
    born_digital_pages,
    score_settings,
    variant,
)
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from tests.ocr.files import encoded, pdf, picture, typed

pytestmark = pytest.mark.ocr

WORDS = "the apples and oranges are sold\nat market stalls near the river\nevery morning before seven"


FAST = Recognition(profile="fast", text_layer="never")


def known_page(truth: str) -> KnownPage:
    return KnownPage(
        encoded(picture(WORDS), "PNG"), tuple(Word(text=text, box=Box(0, 0, 1, 1)) for text in truth.split())
    )


def test_a_variant_is_written_as_keys_of_the_recipe() -> None:
    assert variant("profile=fast") == FAST
    assert variant("engine=tesserocr tesserocr.psm=4").settings.psm == 4
    with pytest.raises(RecipeError, match=r"recognition\.tesserocr\.pms \(did you mean psm\?\)"):
        variant("engine=tesserocr tesserocr.pms=4")


def test_word_order_is_scored_separately() -> None:
    backwards = " ".join(reversed(WORDS.split()))
    (forth,) = score_settings("page", [known_page(WORDS)], {"default": FAST})
    (back,) = score_settings("page", [known_page(backwards)], {"default": FAST})
    assert (forth.recall, forth.precision, forth.in_order) == (1, 1, 1)
    assert (back.recall, back.precision, back.in_order) == (1, 1, 0)


def test_boxes_of_words_that_were_read_right_are_compared() -> None:
    data = encoded(picture(WORDS), "PNG")
    first, *_ = words = recognise_page(data, 1, FAST).words
    half = replace(first, box=replace(first.box, x1=(first.box.x0 + first.box.x1) / 2))
    (same,) = score_settings("page", [KnownPage(data, words)], {"default": FAST})
    (other,) = score_settings("page", [KnownPage(data, (half, replace(half, text="unread")))], {"default": FAST})
    assert (same.box_iou, other.box_iou) == (pytest.approx(1), pytest.approx(0.5))


def test_a_resolution_that_is_too_low_lowers_recall() -> None:
    tiny = variant("engine=tesserocr tesserocr.preprocessing.width=60")
    good, bad = score_settings("page", [known_page(WORDS)], {"default": FAST, "tiny": tiny})
    assert bad.recall < 0.5 < good.recall
    assert len(good.cells()) == len(HEADING)


def test_receipts_are_sampled_with_their_words(data_root: Path) -> None:
    pages = annotated_pictures("sroie", str(data_root / "sroie" / "SROIE2019"), "test", 3)
    assert len(pages) == 3
    assert all(len(page.truth) > 10 for page in pages)
    (row,) = score_settings("sroie", pages, {"default": FAST})
    assert row.recall > 0.6


def test_the_text_layer_is_the_ground_truth_of_born_digital_pages(data_root: Path) -> None:
    pages = born_digital_pages(str(data_root / "kleister-nda" / "documents"), 1)
    (row,) = score_settings("nda", pages, {"default": FAST})
    assert row.recall > 0.9


def test_own_pdf_files_are_compared_with_their_text_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "typed.pdf").write_bytes(
        pdf("".join(typed(line, x=50, y=700 - 40 * n) for n, line in enumerate(WORDS.splitlines())))
    )
    assert main(["benchmark", "ocr", "folder", str(tmp_path), "--variant", "profile=fast"]) == 0
    assert "profile" in capsys.readouterr().err


def test_a_folder_without_text_layers_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scan.pdf").write_bytes(pdf(""))
    assert main(["benchmark", "ocr", "folder", str(tmp_path)]) == 1
    assert "has no PDF file whose first page has a usable text layer" in capsys.readouterr().err
