from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from benchmarks import sample_pages as page_options
from benchmarks.measure.page_sample import link_sample
from layoutray.errors import InputError


def _pdf(path: Path, pages: int) -> None:
    document = pypdfium2.PdfDocument.new()
    for _ in range(pages):
        document.new_page(100, 100)
    document.save(path)


@pytest.mark.parametrize(("count", "documents"), [(100, 8), (10, 8), (9, 7), (5, 5), (1, 1), (0, 0)])
def test_the_sample_has_at_most_count_pages(tmp_path: Path, count: int, documents: int) -> None:
    for number in range(4):
        Image.new("L", (9, 9)).save(tmp_path / f"a{number}.png")
    for number, pages in enumerate((3, 1, 1, 1)):
        _pdf(tmp_path / f"b{number}.pdf", pages)
    (tmp_path / "c.txt").write_text("no page")
    link_sample([tmp_path], count, tmp_path / "sample")
    sample = [file.resolve() for file in sorted((tmp_path / "sample").iterdir())]
    assert len(sample) == documents
    taken = sum(len(pypdfium2.PdfDocument(file)) if file.suffix == ".pdf" else 1 for file in sample)
    assert taken <= count


def test_the_sample_is_spread_evenly_over_all_documents(tmp_path: Path) -> None:
    for number in range(100):
        Image.new("L", (9, 9)).save(tmp_path / f"{number:02d}.png")
    link_sample([tmp_path], 10, tmp_path / "sample")
    assert [file.resolve().name[0] for file in sorted((tmp_path / "sample").iterdir())] == list("0123456789")


def test_a_file_that_cannot_be_opened_counts_as_one_page(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    (tmp_path / "empty.png").write_bytes(b"")
    link_sample([tmp_path], 10, tmp_path / "sample")
    assert len(list((tmp_path / "sample").iterdir())) == 2


def test_a_name_that_is_not_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing is not a folder; name folders of pictures and PDF files"):
        link_sample([tmp_path / "missing"], 10, tmp_path / "sample")


def test_without_folders_the_pages_are_synthetic(tmp_path: Path) -> None:
    page_options.collect([], 3, tmp_path / "sample")
    assert [file.suffix for file in (tmp_path / "sample").iterdir()] == [".png"] * 3
