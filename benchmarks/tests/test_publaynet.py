from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from layoutray.document import Page
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.ocr.settings import Recognition
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import make_word_source, open_document, recognise_page
from layoutray.readers import load
from layoutray.recipe.ingest import IngestRecipe
from tests.ocr.files import encoded, picture
from tests.readers.native import items, only, put, put_picture

READER = load("publaynet")
CATEGORIES = [{"id": 1, "name": "text"}, {"id": 5, "name": "figure"}]


def region(image: int, *bbox: object, category: int = 1) -> dict[str, Any]:
    return {
        "id": 77,
        "image_id": image,
        "category_id": category,
        "bbox": list(bbox),
        "segmentation": [[1.0, 2.0]],
        "iscrowd": 0,
    }


def coco(images: Sequence[str], *regions: dict[str, Any]) -> dict[str, Any]:
    """A COCO file of pictures of 200 x 100 pixels, their ids counted from 40."""
    named = [{"id": 40 + index, "file_name": name, "width": 200, "height": 100} for index, name in enumerate(images)]
    return {"images": named, "annotations": list(regions), "categories": CATEGORIES}


def page(root: Path, *regions: dict[str, Any]) -> Path:
    put(root / "train.json", coco(["a.jpg"], *regions))
    put_picture(root / "train/a.jpg")
    return root


def pixels(root: Path) -> list[tuple[object, ...]]:
    regions = only(READER, root).regions
    assert regions is not None
    return [(area.label, *(round(side, 6) for side in area.box.to_pixels(200, 100))) for area in regions]


def test_regions_are_boxes_with_the_name_of_their_category(tmp_path: Path) -> None:
    page(tmp_path, region(40, 10, 20, 30.5, 40), region(40, 0, 0, 200, 100, category=5))
    assert pixels(tmp_path) == [("text", 10, 20, 40.5, 60), ("figure", 0, 0, 200, 100)]
    truth = only(READER, tmp_path)
    assert (truth.pages, truth.document.num_pages, truth.document.split, truth.repairs) == ((), 1, "train", 0)


def test_each_item_carries_its_own_regions_so_that_no_json_is_read_again(tmp_path: Path) -> None:
    put(tmp_path / "train.json", coco(["a.jpg", "b.jpg"], region(41, 1, 2, 3, 4), region(40, 5, 6, 7, 8)))
    for name in "ab":
        put_picture(tmp_path / f"train/{name}.jpg")
    first, second = READER.discover(str(tmp_path))
    (tmp_path / "train.json").unlink()
    for item, corner in ((first, (5, 6)), (second, (1, 2))):
        (area,) = READER.read(item).regions or ()
        assert area.box.to_pixels(200, 100)[:2] == pytest.approx(corner)


def test_the_full_download_of_which_most_pictures_are_missing(tmp_path: Path) -> None:
    put(tmp_path / "train.json", coco(["a.jpg", "gone.jpg"], region(40, 1, 2, 3, 4), region(41, "no", "box")))
    put(tmp_path / "val.json", coco(["b.jpg"]))
    put(tmp_path / "licence.json", {"licence": "CDLA"})
    for name in ("train/a.jpg", "val/b.jpg", "test/c.jpg", "cover.jpg"):
        put_picture(tmp_path / name)
    found = items(READER, tmp_path)
    assert set(found) == {("train", "a"), ("dev", "b"), ("test", "c"), ("", "cover")}
    assert [len(READER.read(item).regions or ()) for item in found.values()] == [0, 0, 1, 0]
    assert [bool(item.annotation) for item in found.values()] == [False, False, True, True], (
        "named without regions is not unnamed"
    )


@pytest.mark.parametrize(
    ("stem", "split"), [("train", "train"), ("val", "dev"), ("dev", "dev"), ("test", "test"), ("samples", "")]
)
def test_the_json_tells_the_split(tmp_path: Path, stem: str, split: str) -> None:
    put(tmp_path / f"{stem}.json", coco(["a.jpg"]))
    put_picture(tmp_path / "train/a.jpg")
    assert set(items(READER, tmp_path)) == {(split, "a")}


def test_inverted_and_overhanging_boxes_are_repaired_and_counted(tmp_path: Path) -> None:
    page(tmp_path, region(40, 60, 20, -30, 40), region(40, 150, 20, 60, 40), region(40, 199.9, 20, 0.1, 80))
    assert pixels(tmp_path) == [("text", 30, 20, 60, 60), ("text", 150, 20, 200, 60), ("text", 199.9, 20, 200, 100)]
    assert only(READER, tmp_path).repairs == 2


@pytest.mark.parametrize("bbox", [(300, 20, 10, 10), (float("nan"), 20, 10, 10)])
def test_a_box_that_is_nowhere_is_refused_by_the_pictures_name(tmp_path: Path, bbox: tuple[float, ...]) -> None:
    with pytest.raises(DocumentError, match=r"train/a\.jpg, region 1 \(text\)") as caught:
        only(READER, page(tmp_path, region(40, 1, 2, 3, 4), region(40, *bbox)))
    assert caught.value.reason is Reason.BAD_BOX
    assert "data:" not in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (coco(["a.jpg"], region(40, 1, 2, 3)), r"annotations\[0\]: `bbox` is .*expected 4 numbers x, y, width, height"),
        (
            coco(["a.jpg"], region(40, 1, 2, 3, 4, category=9)),
            r"annotations\[0\]: `category_id` is 9; `categories` has 1, 5",
        ),
        (coco(["a.jpg"]) | {"annotations": ["text"]}, r"annotations\[0\]: is 'text', expected an object"),
        (
            coco(["a.jpg"]) | {"images": [{"id": 1, "file_name": "a.jpg", "width": 0, "height": 9}]},
            r"images\[0\]: the picture is 0 x 9 pixels",
        ),
        (coco(["a.jpg"]) | {"images": [{"id": 1}]}, r"images\[0\]: `file_name` is missing"),
        ('{"images": [', "not JSON, line 1"),
    ],
)
def test_a_malformed_file_is_named_with_the_place(tmp_path: Path, bad: str | dict[str, Any], message: str) -> None:
    put(tmp_path / "train.json", bad)
    put_picture(tmp_path / "train/a.jpg")
    with pytest.raises(DocumentError, match=r"train\.json.*" + message) as caught:
        list(READER.discover(str(tmp_path)))
    assert caught.value.reason is Reason.BAD_ANNOTATION


@pytest.mark.ocr
def test_ocr_words_get_the_labels_of_the_regions_that_they_stand_in(tmp_path: Path) -> None:
    put(tmp_path / "a.jpg", encoded(picture("Grand total 42"), "JPEG"))
    image = {"id": 40, "file_name": "a.jpg", "width": 1000, "height": 700}
    for regions, tag in (([region(40, 0, 0, 1000, 700)], "text"), ([], None)):
        put(tmp_path / "train.json", coco([], *regions) | {"images": [image]})
        (reference,) = READER.discover(str(tmp_path))
        with make_word_source("publaynet", "ocr", Recognition(profile="fast")) as words:
            (task,) = make_plan(
                [open_document(words, reference)], IngestRecipe(reader="publaynet", dev_share=0), set_splits=()
            ).page_tasks
            read = recognise_page(words, task)
        assert isinstance(read, Page), read
        assert " ".join(word.text for word in read.words) == "Grand total 42"
        assert {word.tag for word in read.words} == {tag}


def test_regions_without_words_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (reference,) = READER.discover(str(page(tmp_path)))
    with make_word_source("publaynet", "annotation", Recognition()) as words:
        found = open_document(words, reference)
    assert found.letter is not None
    assert found.letter.reason == "bad_annotation"
    assert "words = 'ocr'" in found.letter.message


def test_a_picture_that_two_files_name_is_refused(tmp_path: Path) -> None:
    put(page(tmp_path) / "copy of train.json", coco(["a.jpg"]))
    with pytest.raises(
        InputError, match=r"copy of train\.json both annotate 'a\.jpg'; a picture must have one annotation"
    ):
        list(READER.discover(str(tmp_path)))


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path / "train.json", coco(["a.jpg"]))
    with pytest.raises(InputError, match=r"\{train,val\}/\*\.jpg"):
        list(READER.discover(str(tmp_path)))


def test_real_pages(data_root: Path) -> None:
    """Every page has regions that need no repair; with all known pages, their number is the known one."""
    labels: Counter[str] = Counter()
    found = items(READER, data_root / "publaynet")
    for item in found.values():
        truth = READER.read(item)
        assert truth.regions
        assert truth.repairs == 0
        labels.update(area.label for area in truth.regions)
    assert set(labels) <= {"text", "title", "list", "table", "figure"}
    if len(found) != 16:
        pytest.skip("not the 16 pages that the totals are known of")
    assert labels.total() == 141
