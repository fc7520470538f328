import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from layoutray.document.tags import spans
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.readers import load
from tests.readers.native import items, only, put, put_picture, tags, texts

READER = load("funsd")
BOX = [10, 20, 110, 40]


def word(text: str, box: list[Any] | None = None) -> dict[str, Any]:
    return {"text": text, "box": BOX if box is None else box}


def entity(label: str, *words: dict[str, Any]) -> dict[str, Any]:
    return {"label": label, "words": list(words), "text": "not the words", "box": BOX, "linking": [[0, 0]], "id": 0}


def form(root: Path, *entities: Any) -> Path:
    put(root / "training_data/annotations/1.json", {"form": list(entities)})
    put_picture(root / "training_data/images/1.png")
    return root


def test_entities_become_iob2_tags(tmp_path: Path) -> None:
    question, answer = entity("question", word("Name:")), entity("answer", word("Ada"), word("Byron"))
    truth = only(
        READER,
        form(tmp_path, question, answer, entity("other", word("page"), word("1")), entity("header", word("FORM"))),
    )
    assert tags(truth) == ["B-question", "B-answer", "I-answer", "O", "O", "B-header"]
    assert [seen.block for seen in truth.pages[0].words] == [0, 1, 1, 2, 2, 3]


def test_boxes_are_shares_of_the_picture(tmp_path: Path) -> None:
    page = only(READER, form(tmp_path, entity("answer", word("A")))).pages[0]
    assert page.words[0].box.to_pixels(200, 100) == pytest.approx((10, 20, 110, 40))
    assert (page.width, page.height, page.split, page.number) == (200, 100, "train", 1)


def test_words_without_text_are_dropped_and_the_next_one_begins(tmp_path: Path) -> None:
    truth = only(
        READER,
        form(tmp_path, entity("answer", word(""), word("  "), word("A"), word("B")), entity("question", word(""))),
    )
    assert (texts(truth), tags(truth), truth.dropped) == (["A", "B"], ["B-answer", "I-answer"], 3)


def test_words_with_blanks_inside_are_split(tmp_path: Path) -> None:
    truth = only(READER, form(tmp_path, entity("answer", word(" 12 345 "), word("x"))))
    assert (texts(truth), tags(truth)) == (["12", "345", "x"], ["B-answer", "I-answer", "I-answer"])
    assert truth.pages[0].words[1].box.to_pixels(200, 100) == pytest.approx((60, 20, 110, 40))


def test_lines_begin_with_each_entity_and_below(tmp_path: Path) -> None:
    words = word("a", [10, 10, 20, 20]), word("b", [30, 11, 40, 21]), word("c", [10, 30, 20, 40])
    truth = only(READER, form(tmp_path, entity("answer", *words), entity("answer", word("d", [30, 30, 40, 40]))))
    assert [seen.line for seen in truth.pages[0].words] == [0, 0, 1, 2]


def test_odd_characters_stay(tmp_path: Path) -> None:
    assert texts(only(READER, form(tmp_path, entity("answer", word("\u2610"), word("\uf702"))))) == ["\u2610", "\uf702"]


def test_inverted_and_overhanging_boxes_are_repaired_and_counted(tmp_path: Path) -> None:
    truth = only(READER, form(tmp_path, entity("answer", word("a", [110, 20, 10, 40]), word("b", [-5, 20, 10.5, 140]))))
    first, second = (seen.box.to_pixels(200, 100) for seen in truth.pages[0].words)
    assert first == pytest.approx((10, 20, 110, 40))
    assert second == pytest.approx((0, 20, 10.5, 100))
    assert truth.repairs == 2


@pytest.mark.parametrize(
    ("bad", "reason", "message"),
    [
        (word("gone", [300, 20, 310, 40]), Reason.BAD_BOX, r"\('gone'\): box .* outside its page"),
        (word("gone", [float("nan"), 20, 110, 40]), Reason.BAD_BOX, r"\('gone'\): box .* not finite"),
        (word("gone", [float("inf"), 20, 110, 40]), Reason.BAD_BOX, r"\('gone'\): box .* not finite"),
        ({"box": BOX}, Reason.BAD_ANNOTATION, "`text` is missing"),
        ({"text": None, "box": BOX}, Reason.BAD_ANNOTATION, "`text` is None"),
        (word("a", [1, 2, 3]), Reason.BAD_ANNOTATION, "`box` is"),
        (word("a", ["1", 2, 3, 4]), Reason.BAD_ANNOTATION, "`box` is"),
        (word("a", [10**400, 2, 3, 4]), Reason.BAD_ANNOTATION, "`box` has a number out of range"),
    ],
)
def test_a_bad_word_costs_itself(tmp_path: Path, bad: Any, reason: Reason, message: str) -> None:
    truth = only(READER, form(tmp_path, entity("other", word("fine")), entity("answer", bad)))
    assert (texts(truth), truth.dropped) == (["fine"], 1)
    with pytest.raises(DocumentError, match=rf"1\.json, entity 1, word 0.*{message}") as caught:
        only(READER, form(tmp_path, entity("other"), entity("answer", bad)))
    assert caught.value.reason is reason


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("text", "entity 1: is 'text', expected an object"),
        ({"words": []}, "entity 1: `label` is missing"),
        (entity("qestion"), "entity 1: `label` is 'qestion', allowed: question, answer, header, other"),
        ({"label": "answer"}, "entity 1: `words` is missing"),
    ],
)
def test_malformed_entities_are_named(tmp_path: Path, bad: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=r"1\.json, " + message) as caught:
        only(READER, form(tmp_path, entity("other", word("fine")), bad))
    assert (caught.value.reason, caught.value.stage) == (Reason.BAD_ANNOTATION, "annotation")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"form": {}}', '{"form": [1' + "0" * 5000 + "]}"])
def test_files_that_are_no_form_are_refused(tmp_path: Path, text: str) -> None:
    form(tmp_path)
    put(tmp_path / "training_data/annotations/1.json", text)
    with pytest.raises(DocumentError, match=r"1\.json") as caught:
        only(READER, tmp_path)
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_an_annotation_and_a_picture_may_stand_alone(tmp_path: Path) -> None:
    put(tmp_path / "testing_data/annotations/words.json", {"form": [entity("answer", word("a"))]})
    put_picture(tmp_path / "testing_data/images/picture.png")
    found = items(READER, tmp_path)
    truth = READER.read(found["test", "words"])
    assert (truth.pages[0].width, truth.pages[0].height, truth.pages[0].image) == (110, 40, "")
    assert READER.read(found["test", "picture"]).pages == ()


def test_a_folder_of_another_name_has_no_split(tmp_path: Path) -> None:
    put(tmp_path / "mine/annotations/1.json", {"form": []})
    assert set(items(READER, tmp_path)) == {("", "1")}


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    put_picture(tmp_path / "images" / "1.png")
    with pytest.raises(InputError, match=r"annotations/\*\.json"):
        list(READER.discover(str(tmp_path)))


TOTALS = {
    "train": {"question": 3266, "answer": 2802, "header": 441, "other": 902, "words": 22_512},
    "test": {"question": 742, "answer": 579, "header": 76, "other": 228, "words": 6_444},
}


def test_real_forms_hold_what_is_annotated(data_root: Path) -> None:
    """Counted independently from the JSON; where all of the known forms are there, also against their known totals."""
    annotated = {split: Counter[str]() for split in TOTALS}
    forms: Counter[str] = Counter()
    for (split, _), item in items(READER, data_root / "funsd").items():
        form = json.loads(Path(item.annotation).read_bytes())["form"]
        truth = READER.read(item)
        written = [[seen["text"] for seen in entity["words"] if seen["text"].strip()] for entity in form]
        assert texts(truth) == [part for parts in written for text in parts for part in text.split()]
        assert truth.dropped == sum(len(entity["words"]) for entity in form) - sum(map(len, written))
        assert (truth.repairs, bool(item.image)) == (0, True)
        kinds = [
            entity["label"] for entity, parts in zip(form, written, strict=True) if parts and entity["label"] != "other"
        ]
        assert [kind for kind, _, _ in spans(tags(truth))] == kinds
        forms[split] += 1
        annotated[split].update(entity["label"] for entity in form)
        annotated[split]["words"] += sum(len(entity["words"]) for entity in form)
    if forms != {"train": 149, "test": 35}:
        pytest.skip("not the 149 and 35 forms that the totals are known of")
    assert annotated == TOTALS
