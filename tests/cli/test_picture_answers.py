"""`picture answers`: the values of a folder of answers on the pages of a document."""

import shutil
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image

from layoutray.cli.main import main
from tests.review.answer_folders import write_answers


def test_the_pages_of_a_document_are_drawn_with_a_panel_of_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, pages = write_answers(tmp_path, ["a", "b"], pages_each=2)
    monkeypatch.chdir(tmp_path)
    call = ["picture", "answers", answers, "--pages", pages]
    assert main([*call, "--source", "b.", "--out", "b.png"]) == 0
    assert capsys.readouterr().out == "b.png\n"
    with Image.open("b.png") as drawn, Image.open("b-1.png") as page:
        assert drawn.width > page.width * max(900 / page.width, 1)
        small = drawn.convert("RGB").resize((90, 90))
        pixels = [small.getpixel((x, y)) for x in range(90) for y in range(90)]
    assert sum(len({*pixel}) > 1 for pixel in pixels) > 90, "coloured boxes"
    assert main([*call, "--out", "all.pdf"]) == 0
    with pdfium.PdfDocument("all.pdf") as document:
        assert len(document) == 2
    assert main([*call, "--source", "c."]) == 1
    assert "no document answered in" in capsys.readouterr().err
    assert main(["picture", "answers", pages]) == 1
    assert "give a folder written by `layoutray predict`" in capsys.readouterr().err
    shutil.rmtree(pages)
    assert main(call) == 1
    assert "is not a data set: it does not exist" in capsys.readouterr().err
