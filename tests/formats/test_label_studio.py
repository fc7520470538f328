"""Pages go to Label Studio and come back as they were."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Box, Page, Word
from layoutray.document.tags import to_iob2
from layoutray.errors import InputError
from layoutray.formats.label_studio import (
    LOCAL_FILES,
    LabelledSpan,
    browser_can_show,
    labelling_interface,
    picture_url,
    spans_of,
    task,
)
from layoutray.readers import load
from layoutray.store import codec
from tests.formats.projects import exported, read_back, submitted
from tests.store.pages import page, word

SIDES = st.tuples(*[st.floats(0, 1, width=32)] * 2).map(sorted)
BOXES = st.tuples(SIDES, SIDES).map(lambda sides: Box(sides[0][0], sides[1][0], sides[0][1], sides[1][1]))
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Z", "Cc"]), min_size=1).filter(
    lambda text: text.split() == [text]
)


def bits(one: Page) -> bytes:
    """The boxes as a PAGES table holds them."""
    return codec.boxes_of(codec.pages_table([one], [""]))[0].tobytes()


def as_annotated(one: Page) -> Page:
    """What may come back at best: people give no confidence, and their words have no engine."""
    return replace(one, words=tuple(replace(word, confidence=None) for word in one.words))


@given(
    words=st.lists(st.tuples(TEXTS, BOXES, st.integers(0, 9)), min_size=1),
    entities=st.lists(st.sampled_from("ab"), max_size=4),
)
def test_words_that_nobody_touched_come_back_bit_for_bit(
    words: list[tuple[str, Box, int]], entities: list[str]
) -> None:
    count = min(len(entities), len(words))
    tags = to_iob2([(kind, at, at + 1) for at, kind in enumerate(entities[:count])], len(words))
    sent = page(
        "d",
        3,
        *(Word(text=text, box=box, line=line, tag=tag) for (text, box, line), tag in zip(words, tags, strict=True)),
    )
    with TemporaryDirectory() as folder:
        (back,) = read_back(Path(folder), submitted(exported([sent]))).pages
    assert bits(back) == bits(sent)
    assert [(word.text, word.line, word.block, word.tag) for word in back.words] == [
        (w.text, w.line, w.block, w.tag) for w in sent.words
    ]
    assert (back.number, back.width, back.height, back.source, back.split) == (3, 100, 200, "d.png", "train")


def test_entities_side_by_side_and_labels_of_regions_come_back(tmp_path: Path) -> None:
    for tags in (["B-a", "I-a", "B-a", "O", "B-b"], ["title", "title", None, "table", "O"]):
        sent = page("d", 1, *(word(str(number), tag=tag, block=number) for number, tag in enumerate(tags)))
        (back,) = read_back(tmp_path / str(len(set(tags))), submitted(exported([sent]))).pages
        assert [one.tag for one in back.words] == [None if tag == "O" and "title" in tags else tag for tag in tags]


def test_a_real_form_comes_back(tmp_path: Path, data_root: Path) -> None:
    reader = load("funsd")
    forms = [reader.read(item).pages[0] for item in list(reader.discover(str(data_root / "funsd")))[:3]]
    tasks = submitted(exported(forms))
    for number, form in enumerate(forms):
        truth = read_back(tmp_path / str(number), tasks[number : number + 1], [str(data_root)])
        (back,) = truth.pages
        assert bits(back) == bits(form)
        boxes = [Box(*map(float, box)) for box in np.frombuffer(bits(form), np.float32).reshape(-1, 4)]
        assert replace(back, words=tuple(replace(w, box=b) for w, b in zip(back.words, boxes, strict=True))) == replace(
            as_annotated(form), words=tuple(replace(w, box=b) for w, b in zip(form.words, boxes, strict=True))
        )
        assert (truth.repairs, truth.dropped, truth.document.doc_id) == (0, 0, form.doc_id)


def test_a_task_shows_what_a_model_has_found_and_how_sure_it_is() -> None:
    sent = page("d", 1, word("Total"), word("9.00"), word("EUR"))
    made = task(
        sent,
        [LabelledSpan(label="total", words=(1, 2), score=0.75), LabelledSpan(label="name", words=(0,), score=0.5)],
        "s3://b/d.png",
        "invoices 3f",
    )
    (prediction,) = made["predictions"]
    assert (prediction["model_version"], prediction["score"], made["data"]["image"]) == (
        "invoices 3f",
        0.5,
        "s3://b/d.png",
    )
    labels = [result for result in prediction["result"] if result["type"] == "rectanglelabels"]
    assert [(result["value"]["rectanglelabels"], result["score"]) for result in labels] == [
        (["name"], 0.5),
        (["total"], 0.75),
        (["total"], 0.75),
    ]
    texts = [result for result in prediction["result"] if result["type"] == "textarea"]
    assert [(text["id"], text["value"]["text"]) for text in texts] == [
        (label["id"], [w.text]) for label, w in zip(labels, sent.words, strict=True)
    ]
    assert labels[0]["value"] | {"x": 25, "y": 50, "width": 12.5, "height": 6.25, "rotation": 0} == labels[0]["value"]
    assert (labels[0]["original_width"], labels[0]["original_height"]) == (100, 200)
    assert "score" not in task(sent, spans_of(sent), "", "")["predictions"][0]


def test_entities_of_one_record_are_joined_and_come_back_in_it(tmp_path: Path) -> None:
    kinds, groups = ["name", "name", "price", "name", "price", "total"], [4, 4, 4, 9, 9, None]
    tags = [f"{'I' if at == 1 else 'B'}-{kind}" for at, kind in enumerate(kinds)]
    sent = page("d", 1, *(word(str(at), tag=tags[at], group=groups[at]) for at in range(6)))
    tasks = exported([sent])
    relations = [one for one in tasks[0]["predictions"][0]["result"] if one["type"] == "relation"]
    assert [(one["from_id"], one["to_id"]) for one in relations] == [("word-0", "word-2"), ("word-3", "word-4")]
    (back,) = read_back(tmp_path, submitted(tasks)).pages
    found = [one.group for one in back.words]
    assert found[0] == found[1] == found[2] != found[3] == found[4]
    assert found[5] is None
    assert None not in found[:5]


def test_a_word_that_only_contains_a_value_is_split_and_comes_back_split(tmp_path: Path) -> None:
    fused = Word(text="Date:14/02/20185:37PM", box=Box(0.25, 0.5, 0.46, 0.6), line=1, block=2)
    sent = page("d", 1, word("Shop"), fused, word("9.00"))
    found = [
        LabelledSpan(label="date", words=(1,), score=0.5, content="14/02/2018"),
        LabelledSpan(label="total", words=(2,), score=0.75, content="9.00"),
        LabelledSpan(label="name", words=(0,), score=0.75, content="not in the word"),
    ]
    (back,) = read_back(tmp_path, submitted([task(sent, found, "s3://b/d.png", "invoices 3f")])).pages
    assert [(one.text, one.line, one.block, one.tag) for one in back.words] == [
        ("Shop", 0, 0, "B-name"),
        ("Date:", 1, 2, "O"),
        ("14/02/2018", 1, 2, "B-date"),
        ("5:37PM", 1, 2, "O"),
        ("9.00", 0, 0, "B-total"),
    ]
    sides = [side for one in back.words[1:4] for side in (one.box.x0, one.box.x1)]
    assert sides == pytest.approx([0.25, 0.3, 0.3, 0.4, 0.4, 0.46])


def test_an_entity_of_several_words_is_split_at_both_ends(tmp_path: Path) -> None:
    sent = page("d", 1, word("on14"), word("Feb"), word("2018at"))
    found = [LabelledSpan(label="date", words=(0, 1, 2), score=0.5, content="14 Feb 2018")]
    (back,) = read_back(tmp_path, submitted([task(sent, found, "s3://b/d.png", "invoices 3f")])).pages
    assert [(one.text, one.tag) for one in back.words] == [
        ("on", "O"),
        ("14", "B-date"),
        ("Feb", "I-date"),
        ("2018", "I-date"),
        ("at", "O"),
    ]


def test_the_interface_names_every_part_that_tasks_use() -> None:
    view = ElementTree.fromstring(labelling_interface(["a & b", "<date>"]))
    assert [label.get("value") for label in view.iter("Label")] == ["a & b", "<date>", "O"]
    results = task(page("d", 1, word("x")), [], "", "")["predictions"][0]["result"]
    assert {result["from_name"] for result in results} <= {part.get("name") for part in view.iter()}
    assert {result["to_name"] for result in results} == {image.get("name") for image in view.iter("Image")}
    assert {part.get("toName") for part in view} - {None} == {"image"}


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("/data/a b/ü.png", LOCAL_FILES + "a%20b/%C3%BC.png"),
        ("file:///data/%ff.png", LOCAL_FILES + "%FF.png"),
        ("s3://bucket/a%20b.png", "s3://bucket/a%20b.png"),
        ("https://host/a.png", "https://host/a.png"),
    ],
)
def test_pictures_are_asked_for_where_they_are_served(uri: str, url: str) -> None:
    assert picture_url(uri, "/data", LOCAL_FILES) == url


def test_pictures_that_are_not_served_are_refused() -> None:
    with pytest.raises(InputError, match=r"/elsewhere/a\.png is not below /data; .*--root"):
        picture_url("/elsewhere/a.png", "/data", LOCAL_FILES)
    assert [browser_can_show(replace(page(), image=name)) for name in ("a.PNG", "a.jpeg", "a.pdf", "a.tif")] == [
        True,
        True,
        False,
        False,
    ]
