import re
from pathlib import Path
from typing import Any

import pytest

from layoutray.document import Field
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import load
from layoutray.readers.labelled_folder import reader_of
from tests.formats.projects import Results, annotation, exported, read_back, submitted, write
from tests.readers.native import failure, items, only, put, put_picture, refusal, tags, texts
from tests.store.pages import page, word

READER = load("label_studio")
SENT = page("d", 1, word("Total", tag="O"), word("9.00", tag="B-total"), word("EUR", tag="I-total"))


def drawn(name: str, x: float, y: float, **value: Any) -> dict[str, Any]:
    """A rectangle, a tenth of the page wide and high."""
    place = {"x": x, "y": y, "width": 10.0, "height": 10.0, "rotation": 0}
    return {
        "id": name,
        "from_name": "label",
        "type": "rectanglelabels",
        "original_width": 200,
        "original_height": 100,
        "value": place | value,
    }


def made(*results: dict[str, Any], number: int = 7, image: str = "/data/upload/1/0a1b2c3d-scan.png") -> dict[str, Any]:
    """A task of a project that was set up in Label Studio itself."""
    return {"id": number, "data": {"ocr": image}, "annotations": [annotation(list(results))]}


def test_what_a_person_changes_is_changed(tmp_path: Path) -> None:
    def edit(results: Results) -> Results:
        by_id = {(one["id"], one["type"]): one["value"] for one in results}
        by_id["word-0", "rectanglelabels"]["rectanglelabels"] = ["name"]
        by_id["word-1", "textarea"]["text"] = ["9.50"]
        by_id["word-1", "rectanglelabels"]["x"] = by_id["word-1", "textarea"]["x"] = 30.0
        return [one for one in results if one["id"] != "word-2"] + [
            drawn("new", 70, 50, text=["paid"], rectanglelabels=["state"])
        ]

    truth = read_back(tmp_path, submitted(exported([SENT]), edit))
    assert list(zip(texts(truth), tags(truth), strict=True)) == [
        ("Total", "B-name"),
        ("9.50", "B-total"),
        ("paid", "B-state"),
    ]
    moved = truth.pages[0].words[1].box
    assert (moved.x0, moved.x1) == pytest.approx((0.3, 0.425))
    assert (truth.repairs, truth.dropped, truth.failures) == (0, 0, {})


def test_labelled_entities_are_values_of_their_document(tmp_path: Path) -> None:
    pages = [SENT, page("d", 2, word("9.00", tag="B-total"), word("EUR", tag="I-total"), word("paid", tag="B-state"))]
    truth = read_back(tmp_path, submitted(exported(pages)))
    assert truth.document.fields == (Field("total", "9.00 EUR"), Field("state", "paid"))


def test_relations_of_areas_are_records_of_the_words_inside(tmp_path: Path) -> None:
    put_picture(tmp_path / "scan.png", 200, 100)
    relation = {"type": "relation", "from_id": "area", "to_id": "c", "direction": "right"}
    unknown = {"type": "relation", "from_id": ["area"], "to_id": "gone", "direction": "right"}
    regions = (
        drawn("a", 10, 10, text=["green"]),
        drawn("b", 20, 10, text=["tea"]),
        drawn("c", 60, 10, text=["2.00"], rectanglelabels=["price"]),
        drawn("d", 60, 50, text=["9.00"], rectanglelabels=["total"]),
        drawn("area", 5, 5, rectanglelabels=["name"], width=30.0, height=20.0),
    )
    write(tmp_path, [made(*regions, relation, unknown)])
    truth = only(READER, tmp_path)
    assert tags(truth) == ["B-name", "I-name", "B-price", "B-total"]
    groups = [one.group for one in truth.pages[0].words]
    assert groups[0] == groups[1] == groups[2] is not None
    assert groups[3] is None


def test_the_latest_annotation_that_is_not_cancelled_counts(tmp_path: Path) -> None:
    (task,) = submitted(exported([SENT]))
    first = task["annotations"][0]["result"]
    task["annotations"] = [
        annotation(first[:2], "2026-01-03T00:00:00.000000Z"),
        annotation(first[:4], "2026-01-02T00:00:00.000000Z"),
        annotation(first, "2026-01-04T00:00:00.000000Z", was_cancelled=True),
    ]
    assert texts(read_back(tmp_path, [task])) == ["Total"]
    again = {**task, "id": 9, "annotations": [annotation(first[:4], "2026-02-01T00:00:00.000000Z")]}
    assert texts(read_back(tmp_path, [again, task])) == ["Total", "9.00"], "the same page, imported twice"


def test_pages_of_a_document_come_together_and_skipped_ones_are_told(tmp_path: Path) -> None:
    tasks = submitted(exported([page("d", number, word(str(number))) for number in (3, 1, 2)]))
    tasks[0]["annotations"][0]["was_cancelled"] = True
    tasks[1]["annotations"] = []
    truth = read_back(tmp_path, tasks)
    assert ([one.number for one in truth.pages], [*truth.failures], truth.document.num_pages) == ([2], [1, 3], 3)
    assert (truth.document.doc_id, truth.document.source, truth.document.split) == ("d", "d.png", "train")


def test_projects_of_their_own_are_read_with_the_pictures_below_the_root(tmp_path: Path) -> None:
    put_picture(tmp_path / "scans" / "scan.png", 200, 100)
    write(
        tmp_path,
        [
            made(
                drawn("a", 60, 10, rectanglelabels=["name"], text=["ACME", "Corp"]),
                drawn("b", 10, 10, labels=["key"], text="By:"),
            )
        ],
    )
    truth = only(READER, tmp_path)
    assert list(zip(texts(truth), tags(truth), strict=True)) == [
        ("By:", "B-key"),
        ("ACME", "B-name"),
        ("Corp", "I-name"),
    ]
    assert truth.pages[0].image.endswith("scans/scan.png")
    assert (truth.pages[0].width, truth.pages[0].height) == (200, 100)
    for shown in ("https://host/a/scan.png", "/data/local-files/?d=a/scan.png", "/data/local-files/?d=scan.png"):
        write(tmp_path, [made(image=shown)])
        assert only(READER, tmp_path).pages[0].image.endswith("scans/scan.png")


def test_pictures_that_are_not_there_cost_nothing_but_themselves(tmp_path: Path) -> None:
    write(tmp_path, [made(drawn("a", 0, 0, text="x")), made(drawn("a", 0, 0, text="y"), number=8, image="other.png")])
    found = items(READER, tmp_path)
    assert {item.image for item in found.values()} == {""}
    truths = [READER.read(item) for item in found.values()]
    assert len({truth.document.doc_id for truth in truths}) == 2
    assert {truth.document.source.rpartition("/")[2] for truth in truths} == {"project-1.json#7", "project-1.json#8"}


def test_a_turned_rectangle_is_the_box_around_it(tmp_path: Path) -> None:
    write(tmp_path, [made(drawn("a", 50, 50, rotation=90, text="x"), drawn("b", 0, 0, rotation=45, text="y"))])
    first, second = only(READER, tmp_path).pages[0].words[::-1]
    # 20 x 10 pixels of 200 x 100, a quarter turn clockwise about the corner at (100, 50).
    assert first.box.to_pixels(200, 100) == pytest.approx((90, 50, 100, 70), abs=1e-4)
    assert second.box.to_pixels(200, 100) == pytest.approx((0, 0, 14.1421, 21.2132), abs=1e-3)


def test_polygons_are_read_and_other_shapes_are_dropped(tmp_path: Path) -> None:
    polygon = {
        "id": "p",
        "type": "polygonlabels",
        "value": {"points": [[10, 10], [30, 20], [20, 40]], "polygonlabels": ["a"], "text": ["x"]},
    }
    brush = {"id": "q", "type": "brushlabels", "value": {"format": "rle", "rle": [0], "brushlabels": ["a"]}}
    relation = {"type": "relation", "from_id": "p", "to_id": "q"}
    write(tmp_path, [made(polygon, brush, relation)])
    truth = only(READER, tmp_path)
    assert (tags(truth), truth.dropped) == (["B-a"], 1)
    box = truth.pages[0].words[0].box
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx((0.1, 0.1, 0.3, 0.4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_rotation": 90}, "rotated by 90"),
        ({"value": {"x": "a", "y": 0, "width": 1, "height": 1}}, "expected 4 numbers x, y, width, height"),
        ({"value": {"x": 1e300, "y": 0, "width": 1, "height": 1}}, "region a: box .* not finite"),
        ({"value": {"x": 200, "y": 0, "width": 1, "height": 1}}, "region a: box .* outside its page"),
        (
            {"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["a", "b"]}},
            "has the labels .* expected one label",
        ),
        ({"original_width": 0}, "0 x 100 pixels"),
    ],
)
def test_what_is_wrong_with_a_region_is_told_with_its_task(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    write(tmp_path, [made(drawn("a", 0, 0, text="x") | change)])
    assert re.search(rf"project-1\.json#7.*{message}", str(failure(only(READER, tmp_path))))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '[{"image": "/data/upload/a.png", "id": 1, "label": [{"x": 1}], "transcription": ["a"]}]',
            r"format JSON-MIN\?\); export .* format JSON",
        ),
        ('{"a": 1}', "expected a list of tasks"),
        ('[{"data": {"layoutray": {"doc_id": 1}}, "annotations": []}]', "`layoutray`: `doc_id` is 1, expected a str"),
        ("[", "not JSON"),
    ],
)
def test_other_exports_are_refused_with_what_to_do(tmp_path: Path, content: str, message: str) -> None:
    put(tmp_path / "a.json", content)
    with pytest.raises(DocumentError, match=rf"a\.json.*{message}"):
        list(READER.discover(str(tmp_path)))


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NAME\.json"):
        list(READER.discover(str(tmp_path)))


TEMPLATES = {
    "valueList": (lambda index: {"item_index": index, "to_name": "image"}, lambda names: names),
    "one list of objects": (
        lambda index: {"to_name": f"page_{index}", "from_name": f"label_{index}"},
        lambda names: [{"page": name} for name in names],
    ),
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_task_of_several_pages_is_a_document_of_these_pages(tmp_path: Path, template: str) -> None:
    place, listed = TEMPLATES[template]
    names = [put_picture(tmp_path / "scans" / f"{at}.png", *size) for at, size in enumerate([(200, 100), (400, 300)])]
    regions = [
        drawn("a", 10, 10, text=["11.00"], rectanglelabels=["total"]) | place(0),
        drawn("b", 10, 10, text=["22.00"], rectanglelabels=["tax"])
        | {"original_width": 400, "original_height": 300}
        | place(1),
        {"type": "relation", "from_id": "a", "to_id": "b"},
    ]
    data = {"title": "a bill", "pages": listed([f"https://host/x/{name.name}?sign=1" for name in [*names, names[0]]])}
    write(tmp_path, [{"id": 7, "data": data, "annotations": [annotation(regions)]}])
    truth = only(READER, tmp_path)
    assert [(page.number, page.width, [word.text for word in page.words]) for page in truth.pages] == [
        (1, 200, ["11.00"]),
        (2, 400, ["22.00"]),
        (3, 200, []),
    ]
    assert [Path(page.image).name for page in truth.pages] == ["0.png", "1.png", "0.png"]
    assert truth.document.fields == (Field("total", "11.00"), Field("tax", "22.00"))
    assert (truth.document.num_pages, truth.failures) == (3, {})
    write(tmp_path, [{"id": 7, "data": data, "annotations": []}])
    assert [*only(READER, tmp_path).failures] == [1, 2, 3]


@pytest.mark.parametrize(
    ("data", "places", "message"),
    [
        ({"front": "a.png", "back": "b.png"}, [{"to_name": "front"}, {"to_name": "back"}], "are on back, front"),
        ({"pages": ["a.png", "b.png"]}, [{"to_name": "page_0"}, {"to_name": "other"}], "are on other, page_0"),
        ({"pages": ["a.png", "b.png"]}, [{"item_index": 2}], "page 3, but the task has 2 pictures"),
        ({"image": "a.png"}, [{"item_index": 1}], "page 2, but the task has 1 picture"),
    ],
)
def test_regions_whose_page_is_not_known_are_refused(
    tmp_path: Path, data: dict[str, Any], places: list[dict[str, Any]], message: str
) -> None:
    regions = [drawn(str(at), 0, 10 * at, text="x") | place for at, place in enumerate(places)]
    write(tmp_path, [{"id": 7, "data": data, "annotations": [annotation(regions)]}])
    assert re.search(rf"project-1\.json#7: .*{message}", str(failure(only(READER, tmp_path))))


def test_a_region_without_a_page_is_on_the_first_as_label_studio_shows_it(tmp_path: Path) -> None:
    pages = {"pages": ["a.png", "b.png"]}
    regions = [drawn("a", 0, 0, text="x"), drawn("b", 0, 0, text="y") | {"item_index": 1}]
    write(tmp_path, [{"id": 7, "data": pages, "annotations": [annotation(regions)]}])
    assert [[word.text for word in page.words] for page in only(READER, tmp_path).pages] == [["x"], ["y"]]
    write(tmp_path, [{"id": 7, "data": {"pages": ["a.png"]}, "annotations": [annotation([regions[0]])]}])
    assert texts(only(READER, tmp_path)) == ["x"]


def test_pages_of_unknown_pictures_are_those_that_regions_name(tmp_path: Path) -> None:
    regions = [drawn("a", 0, 0, text="x") | {"item_index": 1}]
    data = {"pages": ["https://host/1", "https://host/2"]}
    write(tmp_path, [{"id": 7, "data": data, "annotations": [annotation(regions)]}])
    assert [[word.text for word in page.words] for page in only(READER, tmp_path).pages] == [[], ["x"]]


def test_pictures_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for folder, width in (("a", 200), ("b", 300)):
        put_picture(tmp_path / "pics" / folder / "1.png", width, 100)
    write(
        tmp_path,
        [
            made(drawn("r", 0, 0, text=folder), number=at, image=f"/data/local-files/?d=pics/{folder}/1.png")
            for at, folder in enumerate("abc")
        ],
    )
    truths = [READER.read(item) for item in READER.discover(str(tmp_path))]
    shown = {texts(truth)[0]: Path(truth.pages[0].image).parent.name for truth in truths if truth.pages}
    assert shown == {"a": "a", "b": "b"}
    (refused,) = [truth for truth in truths if truth.failures]
    assert "its picture is one of 2 files with the same name" in str(failure(refused))


def test_a_picture_that_several_tasks_may_show_belongs_to_none(tmp_path: Path) -> None:
    put_picture(tmp_path / "1" / "scan.png", 200, 100)
    uploads = ["/data/upload/1/0a1b2c3d-scan.png", "/data/upload/2/0a1b2c3e-scan.png"]
    tasks = [made(drawn("r", 0, 0, text="x"), number=at, image=image) for at, image in enumerate(uploads)]
    write(tmp_path, tasks)
    for item in READER.discover(str(tmp_path)):
        message = str(failure(READER.read(item)))
        assert re.search(r"scan\.png may be its picture, or that of another task.*2c3d-scan\.png and .*2c3e-", message)
    write(tmp_path, [tasks[0], made(drawn("r", 0, 0, text="y"), number=9, image="https://host/1/scan.png")])
    found = {texts(truth)[0]: truth.pages[0].image for truth in map(READER.read, READER.discover(str(tmp_path)))}
    assert {text: Path(image).name for text, image in found.items()} == {"x": "", "y": "scan.png"}, (
        "a longer common end"
    )


def test_names_are_compared_in_one_normal_form(tmp_path: Path) -> None:
    put_picture(tmp_path / "Mu\N{COMBINING DIAERESIS}ller.png")
    write(tmp_path, [made(drawn("a", 0, 0, text="x"), image="/data/local-files/?d=M%C3%BCller.png")])
    assert only(READER, tmp_path).pages[0].image.endswith("ller.png")


def test_completions_of_old_exports_are_annotations(tmp_path: Path) -> None:
    task = made(drawn("a", 0, 0, text="x"))
    (old,) = task.pop("annotations")
    write(tmp_path, [task | {"completions": [old | {"created_at": 1600000000}]}])
    assert texts(only(READER, tmp_path)) == ["x"]
    assert reader_of(str(tmp_path)) == "label_studio"


@pytest.mark.parametrize(
    "value",
    [
        {"x": float("nan"), "y": 0, "width": 1, "height": 1, "text": "y"},
        {"x": 200, "y": 0, "width": 1, "height": 1, "text": "y"},
        {"x": None, "y": 0, "width": 1, "height": 1, "text": "y"},
        {"x": 1, "y": 0, "width": 1, "height": 1, "text": {"a": 1}},
        {"points": None, "x": "1", "y": 0, "width": 1, "height": 1, "text": "y"},
    ],
)
def test_a_bad_region_costs_itself(tmp_path: Path, value: dict[str, Any]) -> None:
    write(tmp_path, [made(drawn("a", 0, 0, text="x"), drawn("b", 0, 0) | {"value": value})])
    truth = only(READER, tmp_path)
    assert (texts(truth), truth.dropped, truth.failures) == (["x"], 1, {})


def test_a_document_whose_id_leads_out_of_a_folder_is_refused(tmp_path: Path) -> None:
    (task,) = submitted(exported([SENT]))
    task["data"]["layoutray"]["doc_id"] = "../../outside"
    assert refusal(READER, write(tmp_path, [task])).reason is Reason.BAD_ANNOTATION


def test_pictures_that_a_task_names_are_used_below_the_folders_that_the_user_names(tmp_path: Path) -> None:
    (task,) = submitted(exported([SENT]))
    task["data"]["layoutray"]["image"] = str(put_picture(tmp_path / "scans/d.png"))
    export = write(tmp_path / "export", [task])
    assert only(READER, export).pages[0].image == ""
    assert only(load("label_studio", pictures=[str(tmp_path / "scans")]), export).pages[0].image.endswith("scans/d.png")
    assert only(READER, write(tmp_path, [task])).pages[0].image.endswith("scans/d.png")
