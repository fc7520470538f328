import argparse
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from layoutray.benchmark.page_sample import collect


def _pdf(path: Path, pages: int) -> None:
    document = pypdfium2.PdfDocument.new()
    for _ in range(pages):
        document.new_page(100, 100)
    document.save(path)


@pytest.mark.parametrize(("count", "documents"), [(100, 8), (10, 8), (9, 7), (5, 5), (1, 1), (0, 0)])
def test_at_most_so_many_pages_are_taken(tmp_path: Path, count: int, documents: int) -> None:
    for number in range(4):
        Image.new("L", (9, 9)).save(tmp_path / f"a{number}.png")
    for number, pages in enumerate((3, 1, 1, 1)):
        _pdf(tmp_path / f"b{number}.pdf", pages)
    (tmp_path / "c.txt").write_text("no page")
    collect(argparse.Namespace(folders=[tmp_path], pages=count), tmp_path / "chosen")
    chosen = [file.resolve() for file in sorted((tmp_path / "chosen").iterdir())]
    assert len(chosen) == documents
    taken = sum(len(pypdfium2.PdfDocument(file)) if file.suffix == ".pdf" else 1 for file in chosen)
    assert taken <= count


def test_documents_are_spread_over_all(tmp_path: Path) -> None:
    for number in range(100):
        Image.new("L", (9, 9)).save(tmp_path / f"{number:02d}.png")
    collect(argparse.Namespace(folders=[tmp_path], pages=10), tmp_path / "chosen")
    assert [file.resolve().name[0] for file in sorted((tmp_path / "chosen").iterdir())] == list("0123456789")


def test_a_file_that_cannot_be_opened_is_taken_too(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "empty.png").write_bytes(b"")
    collect(argparse.Namespace(folders=[tmp_path], pages=10), tmp_path / "chosen")
    assert len(list((tmp_path / "chosen").iterdir())) == 2
