import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from layoutray.document.tags import spans
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.prepare.recognise import AnnotationWordSource, open_document
from layoutray.readers import load
from tests.readers.native import items, only, put, put_picture, tags, texts

READER = load("wildreceipt")
CLASSES = "0 Ignore\n1 Store_name_value\n3 Store_addr_value\t\n7 Date_value\n25 Others"


def box(text: str, label: Any = 1, x: float = 10, y: float = 20) -> dict[str, Any]:
    """A box 40 wide and 10 high, from its bottom left corner on."""
    return {"box": [x, y + 10, x + 40, y + 10, x + 40, y, x, y], "text": text, "label": label}


def receipt(*boxes: Any, name: str = "image_files/1/a.jpeg", **changes: Any) -> str:
    return json.dumps({"file_name": name, "height": 100, "width": 200, "annotations": list(boxes)} | changes)


def write(root: Path, *lines: str, split: str = "test", classes: str = CLASSES) -> Path:
    put(root / f"{split}.txt", "\n".join(lines) + "\n")
    put(root / "class_list.txt", classes)
    put(root / "dict.txt", "a\nb\n")
    return root


def test_boxes_are_entities_of_their_class(tmp_path: Path) -> None:
    boxes = box("SHOP"), box("1 HighSt", 3), box("x", 0), box("bye", 25), box("SHOP"), box("SHOP")
    truth = only(READER, write(tmp_path, receipt(*boxes)))
    assert texts(truth) == ["SHOP", "1", "HighSt", "x", "bye", "SHOP", "SHOP"]
    name, address = "Store_name_value", "Store_addr_value"
    assert tags(truth) == [f"B-{name}", f"B-{address}", f"I-{address}", "O", "O", f"B-{name}", f"B-{name}"]
    assert [seen.block for seen in truth.pages[0].words] == [0, 1, 1, 2, 3, 4, 5]


def test_quads_of_any_turn_become_boxes_in_shares_of_the_stated_size(tmp_path: Path) -> None:
    turned = box("b") | {"box": [50.5, 20, 50.5, 30, 10, 30, 10, 20]}
    page = only(READER, write(tmp_path, receipt(box("a"), turned))).pages[0]
    assert [seen.box.to_pixels(200, 100) for seen in page.words] == [
        pytest.approx((10, 20, 50, 30)),
        pytest.approx((10, 20, 50.5, 30)),
    ]
    assert (page.width, page.height, page.number, page.split) == (200, 100, 1, "test")


def test_texts_that_are_empty_are_dropped_and_boxes_that_overhang_cut(tmp_path: Path) -> None:
    truth = only(READER, write(tmp_path, receipt(box(""), box("  "), box("a", x=180), box("b"))))
    assert (texts(truth), truth.dropped, truth.repairs) == (["a", "b"], 2, 1)


def test_lines_begin_below_and_to_the_left(tmp_path: Path) -> None:
    boxes = box("a"), box("b", x=60), box("c", y=40), box("d", x=60, y=41)
    assert [seen.line for seen in only(READER, write(tmp_path, receipt(*boxes))).pages[0].words] == [0, 0, 1, 1]


def test_pictures_may_be_missing_and_every_document_has_its_own_identity(tmp_path: Path) -> None:
    write(
        tmp_path,
        receipt(box("a"), name="image_files/1/here.jpeg"),
        "",
        receipt(box("b"), name="image_files/1/gone.jpeg"),
    )
    write(tmp_path, receipt(box("c"), name="image_files/2/7.jpeg"), split="train")
    picture = put_picture(tmp_path / "image_files/1/here.jpeg")
    found = items(READER, tmp_path)
    assert set(found) == {("test", "here"), ("test", "gone"), ("train", "7")}
    here, gone, seven = (found[key] for key in (("test", "here"), ("test", "gone"), ("train", "7")))
    assert here.source == here.image == str(picture)
    assert (gone.source, gone.image) == (f"{tmp_path}/test.txt#3", "")
    assert seven.source == f"{tmp_path}/train.txt#1"
    truths = [READER.read(item) for item in (here, gone, seven)]
    assert [texts(truth) for truth in truths] == [["a"], ["b"], ["c"]]
    assert len({truth.document.doc_id for truth in truths}) == 3


def test_items_carry_their_own_lines_so_that_no_file_is_read_again(tmp_path: Path) -> None:
    (item,) = READER.discover(str(write(tmp_path, receipt(box("a", 3)))))
    (tmp_path / "test.txt").unlink()
    (tmp_path / "class_list.txt").unlink()
    assert tags(READER.read(item)) == ["B-Store_addr_value"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "value is a list"),
        ("{}", "`width` is missing"),
        ('{"width": 9, "height": 9}', "`annotations` is missing"),
        (receipt(width=0), "the picture is 0 x 100 pixels"),
        (receipt("a"), "box 0: is 'a', expected an object"),
        (receipt(box("a", 26)), "box 0: `label` is 26; class_list.txt has 0, 1, 3, 7, 25"),
        (receipt(box("a", "1")), "box 0: `label` is '1', expected a int"),
        (receipt(box("a") | {"box": [1, 2, 3, 4]}), "box 0: `box` is [1, 2, 3, 4], expected 8 numbers"),
        (receipt(box("a") | {"text": None}), "box 0: `text` is None"),
        (receipt(box("a", x=float("nan"))), "box 0: the quad"),
        (receipt(box("a", x=900)), "box 0 ('a'): box"),
    ],
)
def test_a_broken_line_costs_itself_alone(tmp_path: Path, bad: str, message: str) -> None:
    write(tmp_path, receipt(box("a")), bad)
    good, broken = (open_document(AnnotationWordSource(READER), item) for item in READER.discover(str(tmp_path)))
    assert good.document is not None
    assert broken.letter is not None
    assert broken.letter.source == f"{tmp_path}/test.txt#2"
    assert message in broken.letter.message
    assert "data:" not in broken.letter.message


def test_a_class_list_that_says_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DocumentError, match=r"class_list\.txt, line 2: 'Store_name_value' is not a number and a name"
    ) as caught:
        list(READER.discover(str(write(tmp_path, receipt(), classes="0 Ignore\nStore_name_value"))))
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path / "test.txt", receipt())
    with pytest.raises(InputError, match=r"train\.txt or test\.txt, and class_list\.txt beside them"):
        list(READER.discover(str(tmp_path)))


def test_real_receipts_hold_what_is_annotated(data_root: Path) -> None:
    """Counted independently from the JSON; with all known receipts, also compared with their known totals."""
    found = items(READER, data_root / "wildreceipt")
    lines = (data_root / "wildreceipt/test.txt").read_text(encoding="utf-8").splitlines()
    counts: Counter[str] = Counter()
    for item, line in zip(found.values(), map(json.loads, lines), strict=True):
        truth = READER.read(item)
        boxes = line["annotations"]
        assert texts(truth) == [part for box in boxes for part in box["text"].split()]
        entities = sum(1 for box in boxes if box["text"].strip() and box["label"] not in (0, 25))
        assert len(spans(tags(truth))) == entities
        counts.update(
            boxes=len(boxes), dropped=truth.dropped, repairs=truth.repairs, entities=entities, pictures=bool(item.image)
        )
    if len(found) != 433:
        pytest.skip("not the 433 receipts that the totals are known of")
    assert counts == {"boxes": 17_817, "dropped": 890, "repairs": 0, "entities": 10_890, "pictures": 197}
