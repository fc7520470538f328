"""`layoutray export hocr | alto | searchable-pdf`: one file for each document, on disks and in object stores."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.measure.object_store import object_store
from layoutray.cli.main import main
from layoutray.document import Box, Page, Provenance, Word
from layoutray.ocr.settings import Recognition
from layoutray.prepare.recognise import AnnotationWordSource, open_document
from layoutray.readers import Truth, load
from layoutray.store import sources
from tests.jobs import write_pages
from tests.ocr.files import encoded, picture
from tests.readers.native import items, put


def page(source: str, number: int = 1, image: str = "") -> Page:
    doc_id = sources.content_id(source.encode())
    words = (Word(text=f"word{number}", box=Box(0.1, 0.1, 0.4, 0.2), confidence=0.5),)
    return Page(
        doc_id=doc_id,
        number=number,
        width=100,
        height=200,
        words=words,
        source=source,
        image=image,
        split="",
        provenance=Provenance(words="ocr", reason="", engine="eye", version="1"),
    )


def read(reader: str, folder: Path) -> dict[str, Truth]:
    return {key: load(reader).read(item) for (_, key), item in items(load(reader), folder).items()}


@pytest.mark.parametrize("name", ["hocr", "alto"])
def test_each_document_is_a_file_that_ingest_reads(tmp_path: Path, name: str) -> None:
    made = [page("/scans/a.png"), page("/scans/b.pdf", 3), page("/scans/b.pdf", 1), page("s3://b/ä%20b.tif", 2)]
    pages = write_pages(tmp_path / "pages", made)
    assert main(["export", name, pages, str(tmp_path / "out")]) == 0
    truths = read(name, tmp_path / "out")
    assert {key: [(one.number, one.words[0].text) for one in truth.pages] for key, truth in truths.items()} == {
        "a": [(1, "word1")],
        "b": [(1, "word1"), (3, "word3")],
        "ä b": [(2, "word2")],
    }
    assert {one.provenance.engine for truth in truths.values() for one in truth.pages} == {"eye"}


@pytest.mark.parametrize("verb", ["hocr", "alto"])
def test_names_as_long_as_a_file_system_allows_are_cut_and_stay_unique(tmp_path: Path, verb: str) -> None:
    long = "請求書" * 28 + "{}"  # 84 characters of 3 bytes, and 2 bytes, before a suffix of 1
    names = [f"{long.format('aa')}.p", f"{long.format('ab')}.p", "x" * 253 + ".p", "y" * 200 + ".p"]
    made = [page(f"/scans/{name}") for name in names]
    pages = write_pages(tmp_path / "pages", made)
    assert main(["export", verb, pages, str(tmp_path / "out")]) == 0
    written = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert len(written) == 4
    assert all(len(name.encode()) <= 255 for name in written)
    assert sum(name.startswith("請求書" * 20) and "\ufffd" not in name for name in written) == 2
    assert any(name.startswith("y" * 200 + ".") for name in written)
    assert len(read(verb, tmp_path / "out")) == 4


def test_documents_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    pages = write_pages(tmp_path / "pages", [page("/x/a.png"), page("/y/a.png"), page("/y/b.png")])
    assert main(["export", "hocr", pages, str(tmp_path / "out")]) == 0
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    ids = sorted(sources.content_id(source.encode())[:16] for source in ("/x/a.png", "/y/a.png"))
    assert names == [*(f"a-{name}.hocr" for name in ids), "b.hocr"]


def test_pages_without_a_picture_and_unreadable_ones_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = str(put(tmp_path / "a.png", encoded(picture("a", size=(100, 200)), "PNG")))
    bad = str(put(tmp_path / "c.png", b"\x89PNG\r\n\x1a\nbroken"))
    made = [page(good, image=good), page("b.png"), page(bad, image=bad), page("d.png")]
    pages = write_pages(tmp_path / "pages", made)
    assert main(["export", "searchable-pdf", pages, str(tmp_path / "out")]) == 1
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a.pdf"]
    said = capsys.readouterr().err
    assert "c.png is left out: the PNG picture is damaged" in said
    assert "1 pages in 1 files" in said
    assert "2 pages without a picture are left out" in said


def test_what_cannot_be_exported_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = write_pages(tmp_path / "pages", [page("a.png")])
    assert main(["export", "searchable-pdf", pages, str(tmp_path / "out")]) == 1
    assert "none of the 1 pages in" in capsys.readouterr().err
    assert main(["export", "hocr", pages, str(tmp_path / "out")]) == 0
    assert main(["export", "alto", pages, str(tmp_path / "out")]) == 1
    assert "out is not empty; give another folder" in capsys.readouterr().err
    assert main(["export", "alto", str(tmp_path / "out"), str(tmp_path / "new")]) == 1
    assert "is not a data set" in capsys.readouterr().err


def test_documents_go_to_a_bucket(tmp_path: Path) -> None:
    file = str(put(tmp_path / "ä b.jpg", encoded(picture("a", size=(100, 200)), "JPEG")))
    pages = write_pages(tmp_path / "pages", [page(file, image=file)])
    with object_store("scans") as address:
        assert main(["export", "searchable-pdf", pages, f"{address}/out"]) == 0
        assert main(["export", "hocr", pages, f"{address}/hocr"]) == 0
        (pdf,) = sources.list_files(f"{address}/out")
        assert pdf.endswith("/%C3%A4%20b.pdf")
        assert sources.read_bytes(pdf).startswith(b"%PDF-")
        (item,) = load("hocr").discover(f"{address}/hocr")
        assert load("hocr").read(item).pages[0].words[0].text == "word1"


def test_a_damaged_result_is_one_dead_letter(tmp_path: Path) -> None:
    pages = write_pages(tmp_path / "pages", [page("a.png"), replace(page("b.png"), words=())])
    assert main(["export", "alto", pages, str(tmp_path / "out")]) == 0
    put(tmp_path / "out/c.xml", "<alto")
    with AnnotationWordSource(load("alto", Recognition())) as words:
        opened = [open_document(words, item) for item in load("alto").discover(str(tmp_path / "out"))]
    assert [one.letter and one.letter.reason for one in opened] == [None, None, "bad_annotation"]
    assert [one.pages for one in opened[:2]] == [(1,), (1,)]
