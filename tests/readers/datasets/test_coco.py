"""COCO with words: what is malformed, and what comes from elsewhere. The round trip is in test_export_dataset."""

from pathlib import Path
from typing import Any

import pytest

from layoutray.errors import LayoutrayError
from layoutray.formats.entity_json import coco
from layoutray.readers import load
from tests.jobs import pages
from tests.readers.native import put

READER = load("coco")


def content() -> dict[str, Any]:
    return coco([(page, "scan.png") for page in pages(3)])


def read(folder: Path, made: dict[str, Any]) -> Any:
    put(folder / "annotations" / "dev.json", made)
    return [(item, READER.read(item)) for item in READER.discover(str(folder))]


def test_pages_have_their_split_picture_and_tags(tmp_path: Path) -> None:
    found = read(tmp_path, content())
    for (item, truth), page in zip(found, pages(3), strict=True):
        assert (item.split, item.image) == ("dev", str(tmp_path / "images" / "scan.png"))
        assert [word.tag for word in truth.pages[0].words] == [word.tag for word in page.words]
        assert (truth.repairs, truth.dropped) == (0, 0)


def test_a_picture_is_only_looked_for_beside_the_file(tmp_path: Path) -> None:
    made = content()
    made["images"][0]["file_name"] = "../../secret.png"
    (item, _), *_ = read(tmp_path, made)
    assert item.image == str(tmp_path / "images" / "secret.png")


def change(made: dict[str, Any], key: str, **values: Any) -> dict[str, Any]:
    made[key][0] |= values
    return made


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"images": [{"id": 1}], "categories": [], "annotations": []}, "images without `layoutray`, so without words"),
        (
            {
                "images": [{"id": 1}],
                "categories": [{"id": 1, "name": "stamp"}],
                "annotations": [{"image_id": 1, "category_id": 1, "segmentation": {"counts": [9], "size": [3, 3]}}],
            },
            "images without `layoutray`, so without words",
        ),
        ({"images": []}, "`categories` is missing"),
        ({"images": [], "categories": [3], "annotations": []}, "categories 0: is 3, expected an object"),
        (change(content(), "annotations", category_id=77), "category_id 77, which is no category"),
        (change(content(), "annotations", words=[0, 2]), "they must follow each other"),
        (change(content(), "annotations", words=[]), "they must follow each other"),
        (change(content(), "annotations", words=[99]), "must have a type and satisfy"),
        (change(content(), "images", words=[]), "0 words"),
        (change(content(), "images", file_name=3), "`file_name` is 3"),
    ],
)
def test_malformed_files_are_refused(made: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(LayoutrayError, match=message):
        read(tmp_path, made)


def test_a_folder_without_annotations_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LayoutrayError, match="nothing to read below"):
        list(READER.discover(str(tmp_path)))
