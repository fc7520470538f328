"""Wrong labels show themselves: in a wrong place, over no ink, at the place of another field, of another type."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from layoutray.document import Box, Document, Field, Page, Provenance, Word
from layoutray.document.tags import OUTSIDE
from layoutray.prepare.truth_check import Label, TruthCheck, check_truth
from layoutray.prepare.whole_documents import labelled_ids
from layoutray.report import truth_sheet
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet

SIZE = (400, 600)
ORIGIN = Provenance(words="annotation", reason="")
DOCUMENTS = 8


def receipt(folder: Path, number: int, **tags: str) -> tuple[Page, Document]:
    """Vendor, date and total on a page, with their values."""
    texts = {"vendor": f"Acme{number}", "date": f"{number + 1}/02/2021", "total": f"{number + 10}.50", "item": "Tea"}
    image = Image.new("L", SIZE, 250)
    pen = ImageDraw.Draw(image)
    words: list[Word] = []
    for line, (name, text) in enumerate(texts.items()):
        top = 50 + 120 * line + number
        pen.text((40, top), text, fill=0, font_size=30)
        box = Box.from_pixels((40, top, 40 + 15 * len(text), top + 34), *SIZE)
        words.append(Word(text=text, box=box, line=line, tag=tags.get(name) if tags else None))
    file = folder / f"{number}.png"
    image.save(file)
    doc_id = f"{number:064x}"
    place = {"doc_id": doc_id, "source": str(file), "split": "train"}
    page = Page(
        number=1, width=SIZE[0], height=SIZE[1], words=tuple(words), image=str(file), provenance=ORIGIN, **place
    )
    fields = tuple(Field(name, texts[name]) for name in ("vendor", "date", "total"))
    return page, Document(num_pages=1, fields=() if tags else fields, **place)


def checked(folder: Path, made: list[tuple[Page, Document]]) -> TruthCheck | None:
    data_set = DataSet(str(folder / "pages"))
    pages, documents = zip(*made, strict=True)
    shards.write(codec.pages_table(pages, [page.doc_id for page in pages]), data_set.pages, "part.parquet")
    shards.write(codec.documents_table(documents), data_set.documents, "part.parquet")
    return check_truth(data_set, labelled_ids(data_set, 100))


def with_values(made: tuple[Page, Document], **values: str) -> tuple[Page, Document]:
    page, document = made
    fields = tuple(Field(one.name, values.get(one.name, one.value)) for one in document.fields)
    return page, replace(document, fields=fields)


def named(labels: list[Label], name: str, doc_id: str) -> Label:
    (found,) = (one for one in labels if (one.name, one.doc_id) == (name, doc_id))
    return found


def test_right_labels_are_found_and_not_suspicious(tmp_path: Path) -> None:
    check = checked(tmp_path, [receipt(tmp_path, number) for number in range(DOCUMENTS)])
    assert check
    assert check.counts() == {"documents": DOCUMENTS, "found": 3 * DOCUMENTS, "not_found": 0, "pages": {"1": 24}}
    assert [label.reasons for label in check.found] == [()] * 3 * DOCUMENTS
    assert len(check.suspicious) == 5


def test_values_that_are_wrong_come_first(tmp_path: Path) -> None:
    made = [receipt(tmp_path, number) for number in range(DOCUMENTS)]
    swapped, invented, wrong_type = (f"{number:064x}" for number in (2, 3, 4))
    made[2] = with_values(made[2], vendor="12.50")  # the value of the total
    made[3] = with_values(made[3], vendor="Nobody Ltd")
    made[4] = with_values(made[4], total="Tea")
    check = checked(tmp_path, made)
    assert check
    assert [(one.doc_id, one.value) for one in check.not_found] == [(invented, "Nobody Ltd")]
    first = [(one.doc_id, one.name) for one in check.suspicious]
    assert {(swapped, "vendor"), (swapped, "total"), (wrong_type, "total")} == {*first[:3]}
    vendor = named([*check.found], "vendor", swapped)
    assert [reason.split()[-1] for reason in vendor.reasons] == ["vendor", "total"], "far away, and where the total is"
    assert "no amount, as most values of total are" in named([*check.found], "total", wrong_type).reasons
    listed = json.loads((tmp_path / "pages/truth.json").read_text())
    assert listed["not_found"][0]["value"] == "Nobody Ltd"
    assert {row["name"] for row in listed["suspicious"]} == {"vendor", "total"}
    for name in ("truth.json", "truth.png"):
        assert stat.S_IMODE((tmp_path / "pages" / name).stat().st_mode) == 0o600


def test_a_tag_over_no_ink_is_suspicious(tmp_path: Path) -> None:
    tags = {"vendor": "B-vendor", "date": OUTSIDE, "total": "B-total", "item": OUTSIDE}
    made = [receipt(tmp_path, number, **tags) for number in range(DOCUMENTS)]
    page, document = made[5]
    empty = replace(page.words[2], box=Box.from_pixels((300, 290, 390, 325), *SIZE))
    made[5] = replace(page, words=(*page.words[:2], empty, page.words[3])), document
    check = checked(tmp_path, made)
    assert check
    worst = check.suspicious[0]
    assert (worst.doc_id, worst.name, worst.reasons[-1]) == (page.doc_id, "total", "no ink below it")
    assert sum("no ink below it" in one.reasons for one in check.found) == 1
    with Image.open(tmp_path / "pages/truth.png") as sheet:
        assert sheet.width == 1000


def test_pages_without_labels_or_pictures_have_no_sheet(tmp_path: Path) -> None:
    made = [receipt(tmp_path, number) for number in range(DOCUMENTS)]
    unlabelled = checked(tmp_path / "none", [(page, replace(document, fields=())) for page, document in made])
    assert unlabelled is None
    check = checked(tmp_path / "words", [(replace(page, image=""), document) for page, document in made])
    assert check
    assert not check.has_sheet
    assert not (tmp_path / "words/pages/truth.png").exists()


@pytest.mark.parametrize(
    ("paper", "ink", "seen"), [(250, 0, True), (150, 60, True), (250, 240, False), (90, 20, True), (40, 230, True)]
)
def test_ink_differs_from_the_paper_around_it(paper: int, ink: int, seen: bool) -> None:
    page = Image.new("L", (100, 100), paper)
    page.paste(ink, (10, 10, 30, 20))
    assert (truth_sheet.ink_share(page, (10, 10, 30, 20)) > 0.9) == seen
    assert truth_sheet.ink_share(page, (50, 50, 90, 60)) == 0


def test_a_dark_table_around_a_photographed_receipt_hides_no_ink() -> None:
    page = Image.new("L", (300, 300), 15)
    page.paste(200, (100, 0, 200, 300))
    page.paste(90, (120, 100, 160, 110))
    assert truth_sheet.ink_share(page, (120, 100, 160, 110)) > 0.9
    assert truth_sheet.ink_share(page, (120, 200, 160, 210)) == 0
