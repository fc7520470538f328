"""`wild` finds the pages whose words differ from those of independent readers, and counts that do not add up."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.commands.wild import main
from benchmarks.measure import independent_words
from benchmarks.measure.independent_words import NoWordsError, by_pdfminer, by_poppler, readers
from benchmarks.measure.wild_pages import compare_page, sums
from layoutray.document import Box, Page, Provenance, Word
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.settings import Recognition
from layoutray.prepare.manifest import Manifest
from layoutray.store.data_set import DataSet
from tests.ocr.files import pdf as pdf_file
from tests.ocr.files import typed

GOOD = pdf_file(*("".join(typed("alpha beta gamma", x=60, y=700 - 40 * line) for line in range(8)) for _ in range(2)))
HIDDEN = pdf_file(typed("seen by all", x=60, y=700) + typed("nobody sees this", x=60, y=300, mode=3))
CASES = ["", "/CropBox [50 100 450 790]", "/Rotate 90", "/CropBox [50 100 450 790] /Rotate 270", "/Rotate 180"]


def page_of(*words: Word, source: str = "a.pdf") -> Page:
    provenance = Provenance(words="text_layer", reason="")
    return Page(
        doc_id="a", number=1, width=600, height=800, words=words, source=source, image=source, split="train",
        provenance=provenance,
    )  # fmt: skip


def word(text: str, x0: float = 0.1, y0: float = 0.1) -> Word:
    return Word(text=text, box=Box(x0, y0, x0 + 0.1, y0 + 0.02))


@pytest.mark.slow
@pytest.mark.ray
def test_hidden_text_and_a_broken_file_are_listed_and_a_good_file_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, out = tmp_path / "files", tmp_path / "out"
    for corpus, name, data in (
        ("a", "good", GOOD),
        ("a", "again", GOOD),
        ("b", "hidden", HIDDEN),
        ("b", "bad", b"%PDF-"),
    ):
        (files / corpus).mkdir(parents=True, exist_ok=True)
        (files / corpus / f"{name}.pdf").write_bytes(data)
    assert main([str(files), "--out", str(out)]) == 0
    report = json.loads(capsys.readouterr().out)
    totals = report["totals"]
    assert (totals["files"], totals["documents"], totals["duplicates"]) == (4, 2, 1)
    assert totals["dead letters (files)"] == 1
    assert totals["counts that do not add up"] == []
    assert totals["files with other numbers of pages"] == {}
    good, hidden = report["folders"]["a"], report["folders"]["b"]
    assert (good["pages"], good["words"], good["recall"], good["precision"], good["far off"]) == (2, 48, 1.0, 1.0, 0)
    assert (hidden["pages"], totals["pages far off"]) == (1, {"words missing": 1})
    (far,) = report["far"]
    assert (Path(far["source"]).name, far["recall"]) == ("hidden.pdf", 0.5)
    page = (out / "wild.html").read_text()
    assert page.count("<section>") == page.count("data:image/jpeg;base64,") == 1
    assert "nobody · sees · this" in page
    (files / "c.pdf").write_bytes(HIDDEN)
    manifest = replace(Manifest.read(str(out)), pages_out=4)
    assert sums(manifest, str(files), DataSet(str(out)), None) == [
        f"{files / 'c.pdf'} is neither a document, nor a dead letter, nor a duplicate",
        "documents_in: 4 in the manifest, 5 counted",
        "pages: 3 in the manifest, 4 counted",
        "pages_out: 4 in the manifest, 3 counted",
    ]


@pytest.mark.parametrize("entries", CASES)
@pytest.mark.parametrize(
    "read",
    [by_pdfminer, pytest.param(by_poppler, marks=pytest.mark.skipif(not shutil.which("pdftotext"), reason="poppler"))],
)
def test_boxes_of_independent_readers_are_relative_to_the_shown_page(read: object, entries: str) -> None:
    data = pdf_file(typed("Hippo", x=120, y=640, size=40), page_entries=f"/MediaBox [0 0 600 800] {entries}")
    with pdf.opened(data, Recognition()) as document, pdf.opened_page(document, 1) as page:
        (own,) = pdf_text.read(page).words
    letters = read(data, 30.0)[1]  # type: ignore[operator]  # of a vertical line, pdfminer.six makes several words
    theirs = Word(text="Hippo", box=Box.around(one.box for one in letters))
    assert sorted("".join(one.text for one in letters)) == sorted("Hippo")
    sides = [(one.x0 + one.x1, one.y0 + one.y1) for one in (own.box, theirs.box)]
    assert sides[0] == pytest.approx(sides[1], abs=0.03)
    assert compare_page(page_of(own), "other", [theirs]).elsewhere == 0


def test_a_page_is_far_off_by_missing_words_more_words_other_limits_and_places() -> None:
    ours = [word(text, y0=0.1 + 0.1 * number) for number, text in enumerate(["one", "two", "three"])]
    same = compare_page(page_of(*ours), "other", ours)
    assert (same.recall, same.precision, same.elsewhere, same.far_off) == (1, 1, 0, False)
    missing = compare_page(page_of(*ours[:2]), "other", ours)
    more = compare_page(page_of(*ours), "other", ours[:2])
    split = compare_page(page_of(*ours), "other", [*ours[:2], word("thr"), word("ee")])
    moved = compare_page(page_of(*ours), "other", [*ours[:2], word("three", y0=0.6)])
    assert [one.kind for one in (missing, more, split, moved)] == [
        "words missing", "words more", "words split otherwise", "boxes elsewhere"
    ]  # fmt: skip
    assert all(one.far_off for one in (missing, more, split, moved))


def test_words_that_ocr_adds_to_a_text_layer_are_not_compared() -> None:
    read = replace(word("stamp"), confidence=0.9)
    assert not compare_page(page_of(word("one"), read), "other", [word("one")]).far_off


def test_ligatures_and_soft_hyphens_are_no_difference() -> None:
    assert compare_page(page_of(word("o\ufb03ce")), "other", [word("of\xadfice")]).same_letters == 1


def test_a_broken_file_has_no_words_and_says_why() -> None:
    for name, read in readers().items():
        with pytest.raises(NoWordsError, match=name):
            read(b"%PDF-", 30.0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_reader_that_takes_too_long_is_ended() -> None:
    with pytest.raises(NoWordsError, match="more than 0 s"):
        by_pdfminer(pdf_file(*[typed("one", x=60, y=700)] * 300), 0.001)


def test_without_poppler_there_is_one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert list(independent_words.readers()) == ["pdfminer.six"]
