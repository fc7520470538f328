"""Exported data sets come back with words, boxes, tags, splits and document ids, and open in the package datasets."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import datasets
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from layoutray.cli.main import main
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.tags import to_iob2
from layoutray.readers import load
from tests.jobs import pages, write_pages
from tests.readers.native import put_picture

READERS = {"datasets": "layoutlm", "funsd": "funsd", "coco": "coco"}
FORMATS = pytest.mark.parametrize("form", READERS)
HALF_A_THOUSANDTH = 0.0005001
SIDES = st.floats(0, 1, width=32)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def words(draw: st.DrawFn) -> tuple[Word, ...]:
    """Words with lines, blocks and IOB2 tags, or without any tag."""
    texts = draw(st.lists(TEXT, max_size=5))
    cuts = sorted(draw(st.sets(st.integers(0, len(texts)), max_size=4)))
    spans = [(draw(st.sampled_from(["", "date", "net total"])), *ends) for ends in pairwise(cuts)]
    tags = to_iob2([span for span in spans if span[0]], len(texts)) if draw(st.booleans()) else [None] * len(texts)
    made: list[Word] = []
    for text, tag in zip(texts, tags, strict=True):
        (x0, x1), (y0, y1) = sorted((draw(SIDES), draw(SIDES))), sorted((draw(SIDES), draw(SIDES)))
        made.append(
            Word(text=text, box=Box(x0, y0, x1, y1), line=draw(st.integers(0, 3)), block=len(made) // 2, tag=tag)
        )
    return tuple(made)


@st.composite
def documents(draw: st.DrawFn, longest: int) -> list[Page]:
    """Pages of up to three documents, each in one split."""
    made: list[Page] = []
    for number in range(draw(st.integers(1, 3))):
        split, width, height = (
            draw(st.sampled_from(["train", "dev", "test"])),
            *draw(st.tuples(*[st.integers(20, 3000)] * 2)),
        )
        for page in range(draw(st.integers(1, longest))):
            origin = Provenance(words="annotation", reason="made up")
            made.append(
                Page(
                    doc_id=f"{number:064}",
                    number=page + 1,
                    width=width,
                    height=height,
                    words=draw(words()),
                    source=f"{number}.png",
                    image="",
                    split=split,
                    provenance=origin,
                )
            )
    return made


def round_trip(made: list[Page], form: str, folder: Path) -> list[Page]:
    source = write_pages(folder / "pages", made)
    assert main(["export", "dataset", source, str(folder / "out"), "--format", form]) == 0
    reader = load(READERS[form])
    return [page for item in reader.discover(str(folder / "out")) for page in reader.read(item).pages]


def assert_same(found: Sequence[Page], expected: Sequence[Page]) -> None:
    by_id = {(page.doc_id, page.number): page for page in found}
    assert by_id.keys() == {(page.doc_id, page.number) for page in expected}
    assert len(found) == len(expected)
    for page in expected:
        back = by_id[page.doc_id, page.number]
        assert (back.split, back.width, back.height, back.source) == (page.split, page.width, page.height, page.source)
        for name in ("text", "line", "block", "tag"):
            assert [getattr(word, name) for word in back.words] == [getattr(word, name) for word in page.words]
        for one, other in zip(back.words, page.words, strict=True):
            for side in ("x0", "y0", "x1", "y1"):
                assert abs(getattr(one.box, side) - getattr(other.box, side)) <= HALF_A_THOUSANDTH


@FORMATS
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_nothing_is_lost(form: str, data: st.DataObject) -> None:
    made = data.draw(documents(longest=3 if form == "datasets" else 1))
    with tempfile.TemporaryDirectory() as folder:
        assert_same(round_trip(made, form, Path(folder)), made)


@FORMATS
def test_real_forms_come_back(form: str, data_root: Path, tmp_path: Path) -> None:
    reader = load("funsd")
    refs = list(reader.discover(str(data_root / "funsd")))
    made = [page for item in (*refs[:8], *refs[-4:]) for page in reader.read(item).pages]
    assert {page.split for page in made} == {"train", "test"}
    found = round_trip(made, form, tmp_path)
    assert_same(found, made)
    if form != "datasets":
        assert all(Path(page.image).read_bytes() == Path(page.source).read_bytes() for page in found)


def test_the_package_datasets_opens_it_with_names_splits_and_pictures(tmp_path: Path) -> None:
    picture = put_picture(tmp_path / "scan.png", 600, 800)
    made = [replace(page, image=str(picture)) for page in pages(4, 2)]
    source, out = write_pages(tmp_path / "pages", made), tmp_path / "out"
    assert main(["export", "dataset", source, str(out)]) == 0
    loaded = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {split: rows.num_rows for split, rows in loaded.items()} == {"train": 4, "validation": 2}
    names = loaded["train"].features["ner_tags"].feature.names
    assert names[0] == "O"
    for row in (*loaded["train"], *loaded["validation"]):
        (page,) = (page for page in made if page.doc_id == row["doc_id"])
        assert row["tokens"] == [word.text for word in page.words]
        assert [names[tag] for tag in row["ner_tags"]] == [word.tag for word in page.words]
        assert row["bboxes"][0] == [round(side * 1000) for side in _sides(page.words[0])]
        assert row["image"].size == (600, 800)


def test_a_picture_that_exif_turns_is_exported_upright(tmp_path: Path) -> None:
    picture = put_picture(tmp_path / "scan.jpg", 80, 60, orientation=6)
    made = [replace(pages(1)[0], image=str(picture), width=60, height=80)]
    (page,) = round_trip(made, "coco", tmp_path)
    with Image.open(page.image) as exported:
        assert (exported.format, exported.size) == ("PNG", (60, 80))


def test_coco_has_a_box_for_each_entity(tmp_path: Path) -> None:
    tagged = ("O", "B-date", "I-date", "B-total")
    placed = tuple(
        Word(text=f"w{n}", box=Box(0.1 * n, 0.5, 0.1 * n + 0.1, 0.75), tag=tag) for n, tag in enumerate(tagged)
    )
    page = Page(
        doc_id="d" * 64,
        number=1,
        width=100,
        height=200,
        words=placed,
        source="d.png",
        image="",
        split="train",
        provenance=Provenance(words="annotation", reason="made up"),
    )
    round_trip([page], "coco", tmp_path)
    content = json.loads((tmp_path / "out" / "annotations" / "train.json").read_text())
    assert content["categories"] == [{"id": 1, "name": "date"}, {"id": 2, "name": "total"}]
    assert [(one["category_id"], one["bbox"], one["words"]) for one in content["annotations"]] == [
        (1, [10, 100, 20, 50], [1, 2]),
        (2, [30, 100, 10, 50], [3]),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": ""}, "pages of the splits ['']; they must be train, dev, test"),
        (
            {"words": (Word(text="a", box=Box(0, 0, 1, 1), tag="title"),)},
            "labels of regions, which this format cannot hold",
        ),
        ({"words": (Word(text="a", box=Box(0, 0, 1, 1), tag="B-other"),)}, "entities of type 'other'"),
    ],
)
def test_what_funsd_cannot_hold_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_pages(tmp_path / "pages", [replace(pages(1)[0], **changes)])
    assert main(["export", "dataset", source, str(tmp_path / "out"), "--format", "funsd"]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("form", ["funsd", "coco"])
def test_documents_of_several_pages_need_parquet(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = pages(1)[0]
    source = write_pages(tmp_path / "pages", [one, replace(one, number=2, source="receipt-1.png")])
    assert main(["export", "dataset", source, str(tmp_path / "out"), "--format", form]) == 1
    assert "1 documents in" in capsys.readouterr().err


def _sides(word: Word) -> tuple[float, ...]:
    return word.box.x0, word.box.y0, word.box.x1, word.box.y1
