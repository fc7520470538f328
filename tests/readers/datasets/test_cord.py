import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from layoutray.cluster.ingest import plan_ingest
from layoutray.document import Field
from layoutray.document.tags import spans
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.prepare.recognise import AnnotationWordSource, open_document
from layoutray.readers import load
from layoutray.recipe.ingest import load_ingest
from tests.readers.native import items, only, put, put_picture, tags, texts

READER = load("cord")


def word(text: str, x: int = 10, y: int = 20, **changes: Any) -> dict[str, Any]:
    """A word 40 wide and 10 high, its quad a little askew and out of order, as in the release."""
    corners = {"x2": x + 40, "y3": y + 10, "x3": x + 39, "y4": y + 9, "x1": x, "y1": y, "x4": x + 1, "y2": y + 1}
    return {"quad": corners, "is_key": 0, "row_id": 700 + y, "text": text} | changes


def line(category: Any, *words: Any, **more: Any) -> dict[str, Any]:
    return {"category": category, "group_id": 3, "words": list(words)} | more


def receipt(root: Path, *lines: Any, split: str = "train", number: int = 0) -> Path:
    meta = {"version": "1.0.0", "split": split, "image_id": number, "image_size": {"width": 200, "height": 100}}
    put(root / f"CORD/{split}/json/receipt_{number:05d}.json", {"meta": meta, "valid_line": list(lines), "roi": {}})
    return root


def test_lines_become_entities_keys_included(tmp_path: Path) -> None:
    name = line("menu.nm", word("Ice"), word("Tea", 60), sub_group_id=0)
    total = line("total.total_price", word("TOTAL", y=50, is_key=1), word("9,000", 60, 50))
    truth = only(READER, receipt(tmp_path, name, total))
    assert texts(truth) == ["Ice", "Tea", "TOTAL", "9,000"]
    assert tags(truth) == ["B-menu.nm", "I-menu.nm", "B-total.total_price", "I-total.total_price"]
    assert [seen.block for seen in truth.pages[0].words] == [0, 0, 1, 1]
    assert truth.document.fields == (Field("total.total_price", "9,000"),), "items and printed names are no values"


def test_words_have_the_group_of_their_line(tmp_path: Path) -> None:
    lines = line("menu.nm", word("Ice Tea")), line("menu.price", word("9", 60), group_id=0), line("menu.cnt", word("2"))
    assert [seen.group for seen in only(READER, receipt(tmp_path, *lines)).pages[0].words] == [3, 3, 0, 3]
    for missing in (None, "3"):
        receipt(tmp_path, line("menu.nm", word("Tea"), group_id=missing))
        with pytest.raises(DocumentError, match="`group_id` is"):
            only(READER, tmp_path)


def test_quads_become_the_boxes_around_them_in_shares_of_the_stated_size(tmp_path: Path) -> None:
    page = only(READER, receipt(tmp_path, line("menu.nm", word("Tea")))).pages[0]
    assert page.words[0].box.to_pixels(200, 100) == pytest.approx((10, 20, 50, 30))
    assert (page.width, page.height, page.number, page.split, page.image) == (200, 100, 1, "train", "")


def test_rows_are_lines_from_the_top_in_whatever_order_the_fields_stand(tmp_path: Path) -> None:
    low, high = (
        line("total.total_price", word("9", y=80), word("0", y=60)),
        line("menu.nm", word("Tea", y=20), word("Pot", y=60)),
    )
    assert [seen.line for seen in only(READER, receipt(tmp_path, low, high)).pages[0].words] == [2, 1, 0, 1]


def test_words_without_text_are_dropped_and_those_with_blanks_split(tmp_path: Path) -> None:
    truth = only(
        READER, receipt(tmp_path, line("menu.nm", word(" "), word("Ice Tea"), word("L")), line("menu.cnt", word("")))
    )
    assert (texts(truth), tags(truth), truth.dropped) == (
        ["Ice", "Tea", "L"],
        ["B-menu.nm", "I-menu.nm", "I-menu.nm"],
        2,
    )


def test_words_that_overhang_are_cut_and_counted(tmp_path: Path) -> None:
    truth = only(READER, receipt(tmp_path, line("menu.nm", word("Tea", x=180), word("Pot"))))
    assert truth.pages[0].words[0].box.to_pixels(200, 100) == pytest.approx((180, 20, 200, 30))
    assert truth.repairs == 1


def test_the_folder_tells_the_split_and_the_picture_is_the_document(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        receipt(tmp_path, line("menu.nm", word("Tea")), split=split)
    picture = put_picture(tmp_path / "CORD/dev/image/receipt_00000.png")
    put_picture(tmp_path / "CORD/dev/image/receipt_00001.png")
    found = items(READER, tmp_path)
    assert set(found) == {
        ("train", "receipt_00000"),
        ("dev", "receipt_00000"),
        ("dev", "receipt_00001"),
        ("test", "receipt_00000"),
    }
    item = found["dev", "receipt_00000"]
    assert item.source == item.image == str(picture)
    assert READER.read(item).document.doc_id != READER.read(found["test", "receipt_00000"]).document.doc_id
    assert READER.read(found["dev", "receipt_00001"]).pages == ()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("text", "valid_line 1: is 'text', expected an object"),
        (line(None), "valid_line 1: `category` is None, expected a str"),
        (line("menu"), "valid_line 1: `category` is 'menu', expected two names joined by a dot"),
        (line("menu.n m"), "valid_line 1: `category` is 'menu.n m'"),
        ({"category": "menu.nm"}, "valid_line 1: `words` is missing"),
        (line("menu.nm", "Tea"), "valid_line 1, word 0: is 'Tea', expected an object"),
        (line("menu.nm", word("Tea", quad={"x1": 1})), "valid_line 1, word 0: `quad` is .*expected 8 numbers x1, y1"),
        (line("menu.nm", word("Tea", quad=[1, 2])), r"valid_line 1, word 0: `quad` is \[1, 2\], expected a dict"),
        (line("menu.nm", word("Tea", row_id="7")), "valid_line 1, word 0: `row_id` is '7', expected a int"),
        (line("menu.nm", {"quad": word("Tea")["quad"], "row_id": 1}), "valid_line 1, word 0: `text` is missing"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, bad: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=r"receipt_00000\.json, " + message) as caught:
        only(READER, receipt(tmp_path, line("menu.nm", word("fine")), bad))
    assert (caught.value.reason, caught.value.stage) == (Reason.BAD_ANNOTATION, "annotation")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "value is a list"),
        ("{}", "`meta` is missing"),
        ('{"meta": {}}', "`image_size` is missing"),
        ('{"meta": {"image_size": {"width": 0, "height": 5}}, "valid_line": []}', "the picture is 0 x 5 pixels"),
        ('{"meta": {"image_size": {"width": 9, "height": 5}}}', "`valid_line` is missing"),
    ],
)
def test_files_that_are_no_receipt_cost_themselves_alone(tmp_path: Path, text: str, message: str) -> None:
    receipt(tmp_path, line("menu.nm", word("Tea")))
    put(tmp_path / "CORD/train/json/receipt_00001.json", text)
    good, bad = (open_document(AnnotationWordSource(READER), item) for item in READER.discover(str(tmp_path)))
    assert good.document is not None
    assert bad.letter is not None
    assert (bad.letter.reason, bad.letter.source.rpartition("/")[2]) == ("bad_annotation", "receipt_00001.json")
    assert message in bad.letter.message


def test_a_word_that_is_nowhere_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"valid_line 0, word 0 \('Tea'\)") as caught:
        only(READER, receipt(tmp_path, line("menu.nm", word("Tea", x=500))))
    assert caught.value.reason is Reason.BAD_BOX


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\{train,dev,test\}/json/\*\.json"):
        list(READER.discover(str(tmp_path)))


def test_the_recipe_takes_dev_and_test_from_train_only_where_they_are_missing(tmp_path: Path) -> None:
    for number in (0, 639, 640, 699, 700, 799):
        receipt(tmp_path, line("menu.nm", word(f"Tea {number}")), number=number)
    chosen = load_ingest("ingest-cord")
    splits = {unit.reference.key[-3:]: unit.reference.split for unit in plan_ingest(str(tmp_path), chosen).page_tasks}
    assert splits == {"000": "train", "639": "train", "640": "dev", "699": "dev", "700": "test", "799": "test"}
    receipt(tmp_path, line("menu.nm", word("Pot")), split="test")
    splits = Counter(unit.reference.split for unit in plan_ingest(str(tmp_path), chosen).page_tasks)
    assert splits == {"train": 4, "dev": 2, "test": 1}


def test_real_receipts_hold_what_is_annotated(data_root: Path) -> None:
    """Counted independently from the JSON; with all known receipts, also compared with their known totals."""
    found = items(READER, data_root / "cord")
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for item in found.values():
        lines = json.loads(Path(item.annotation).read_bytes())["valid_line"]
        truth = READER.read(item)
        written = [[seen["text"] for seen in line["words"] if seen["text"].strip()] for line in lines]
        assert texts(truth) == [part for parts in written for text in parts for part in text.split()]
        expected = [line["category"] for line, parts in zip(lines, written, strict=True) if parts]
        assert [kind for kind, _, _ in spans(tags(truth))] == expected
        kinds.update(expected)
        counts.update(
            words=sum(len(line["words"]) for line in lines),
            lines=len(lines),
            dropped=truth.dropped,
            repairs=truth.repairs,
        )
    if len(found) != 760:
        pytest.skip("not the 760 receipts that the totals are known of")
    assert counts == {"words": 18_354, "lines": 10_492, "dropped": 1, "repairs": 15}
    assert (len(kinds), kinds["menu.nm"], kinds["void_menu.nm"]) == (30, 1989, 1)


def test_real_receipts_with_the_same_words_lie_in_two_splits_five_times(data_root: Path) -> None:
    splits: dict[tuple[str, ...], list[str]] = {}
    plan = plan_ingest(str(data_root / "cord"), load_ingest("ingest-cord"))
    for unit in plan.page_tasks:
        splits.setdefault(tuple(texts(READER.read(unit.reference))), []).append(unit.reference.split)
    if len(plan.page_tasks) != 760:
        pytest.skip("not the 760 receipts that the pairs are known of")
    assert Counter(unit.reference.split for unit in plan.page_tasks) == {"train": 608, "dev": 57, "test": 95}
    twins = [pair for pair in splits.values() if len(pair) > 1]
    assert (len(twins), sum(len(set(pair)) > 1 for pair in twins)) == (11, 5)
