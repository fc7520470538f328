"""Layout labels: one region label a word, scored by area, answered as regions."""

import numpy as np
import pytest
import torch

from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import Window
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import DocumentError, InputError
from layoutray.tasks.layout_labels import LayoutLabels
from layoutray.tasks.word_labels import WindowLabels
from layoutray.tensors import Encoded

TASK = LayoutLabels()
LABELS = ("paragraph", "table", "title")
ALONE = np.full((1, MAX_NEIGHBOURS), -1, np.int32)
"""The neighbours of a word that has none."""


def page(*words: tuple[str, str | None, int]) -> Page:
    """Words of (text, tag, block), below each other."""
    placed = tuple(
        Word(text=text, box=Box(0.1, row / 10, 0.5, (row + 1) / 10), line=row, block=block, tag=tag)
        for row, (text, tag, block) in enumerate(words)
    )
    return Page(
        doc_id="d",
        number=1,
        width=100,
        height=200,
        words=placed,
        source="d.txt",
        image="",
        split="train",
        provenance=Provenance(words="annotation", reason=""),
    )


def test_labels_are_those_of_the_data_in_alphabetical_order() -> None:
    assert TASK.label_names([["title", "paragraph"], ["table"], []]) == LABELS
    with pytest.raises(InputError, match="no page has region labels"):
        TASK.label_names([[], []])


def test_a_page_without_labels_or_with_an_unknown_one_is_refused() -> None:
    window = Window(np.array([5]), np.zeros((1, 4), np.int32), np.array([0], np.int32), ALONE)
    for tag, message in ((None, "has no tag"), ("figure", "has tag figure; the model knows paragraph, table, title")):
        with pytest.raises(DocumentError, match=message):
            TASK.targets(page(("a", tag, 0)), window, LABELS)


def test_a_word_outside_the_labelled_regions_has_no_target_and_is_not_scored() -> None:
    words = np.array([-1, 0, 1, 1, 2, -1], np.int32)
    window = Window(np.arange(6, dtype=np.int32), np.zeros((6, 4), np.int32), words, ALONE.repeat(3, axis=0))
    targets = TASK.targets(page(("4", None, 0), ("Deep", "title", 0), ("We", "paragraph", 1)), window, LABELS)
    assert targets == [IGNORED, IGNORED, 2, IGNORED, 0, IGNORED]

    class Titles(torch.nn.Module):
        """Scores that take every word for a title, and padding, whatever it claims to stand for, for none."""

        def scores(self, batch: object) -> tuple[Encoded, torch.Tensor]:
            origin, logits = (
                torch.tensor([[0, 1, 2, 3, 4, 5, 2]]),
                torch.tensor([[[0.0, 0.0, 1.0]] * 6 + [[1.0, 0.0, 0.0]]]),
            )
            return Encoded(states=torch.zeros(1, 7, 8), mask=torch.arange(7)[None] < 6, origin=origin), logits

    example = Example(
        doc_id="d",
        page=1,
        window=0,
        input_ids=window.input_ids,
        boxes=window.boxes,
        word_index=words,
        neighbours=window.neighbours,
        page_size=(600, 800),
        labels=np.array(targets, np.int32),
    )
    (seen,) = TASK.observe(Titles(), None, [example])  # pyright: ignore[reportArgumentType]
    assert (seen.words.tolist(), seen.gold.tolist()) == ([1, 2], [2, 0])
    assert TASK.confusion([seen], LABELS) == {("title", "title"): 1, ("paragraph", "title"): 1}


def test_scores_weigh_by_area_and_by_word() -> None:
    words, areas, gold = (np.array(column, np.int32) for column in ((0, 1, 2), (10, 30, 60), (2, 0, 0)))
    seen = [
        WindowLabels(
            doc_id="d",
            page=1,
            window=0,
            words=words,
            areas=areas,
            gold=gold,
            scores=np.array([[1, 0, 0]] * 3, np.float32),
            kept=np.ones(3, np.bool_),
        )
    ]
    found = TASK.summarise(seen, LABELS)
    assert (found["area_precision.paragraph"], found["area_recall.paragraph"]) == (pytest.approx(0.9), 1.0)
    assert (found["token_precision.paragraph"], found["token_f1.title"]) == (pytest.approx(2 / 3), 0.0)
    assert found["area_f1"] == pytest.approx((2 * 0.9 / 1.9 + 0) / 2)
    assert not any("table" in name for name in found), "a label that neither occurs nor is predicted has no score"


def test_words_in_a_row_with_one_label_in_one_block_are_a_region() -> None:
    made = page(("Deep", "title", 0), ("nets", "title", 0), ("We", "paragraph", 1), ("show", "paragraph", 2))
    regions = TASK.entities_from_tags(made, [str(word.tag) for word in made.words], [1.0, 0.25, 1.0, 0.5])
    assert [(region.type, region.content, region.words) for region in regions] == [
        ("title", "Deep nets", (0, 1)),
        ("paragraph", "We", (2,)),
        ("paragraph", "show", (3,)),
    ]
    assert [region.confidence for region in regions] == pytest.approx([0.5, 1.0, 0.5])
    assert regions[0].bounding_regions[0].polygon == pytest.approx((10, 0, 50, 0, 50, 40, 10, 40))


def test_words_without_a_label_are_in_no_region() -> None:
    made = page(("4", None, 0), ("Deep", "title", 1), ("|", None, 1), ("nets", "title", 1))
    regions = TASK.entities_from_tags(made, [word.tag for word in made.words], [1.0] * 4)
    assert [(region.type, region.words) for region in regions] == [("title", (1,)), ("title", (3,))]


def test_an_answer_takes_the_most_likely_label_at_each_words_first_token() -> None:
    made = page(("Deep", None, 0), ("nets", None, 0))
    words = np.array([-1, 0, 0, 1, -1], np.int32)
    ids, boxes = np.array([1, 5, 6, 7, 2]), np.zeros((5, 4), np.int32)
    example = Example(
        doc_id="d",
        page=1,
        window=0,
        input_ids=ids,
        boxes=boxes,
        word_index=words,
        neighbours=ALONE.repeat(2, axis=0),
        page_size=(600, 800),
        labels=None,
    )
    shares = torch.tensor([[0, 1, 0], [0.1, 0.1, 0.8], [1, 0, 0], [0.2, 0.6, 0.2], [1, 0, 0]])
    assert [(region.type, region.words) for region in TASK.answer(made, [(example, shares)], LABELS)] == [
        ("title", (0,)),
        ("table", (1,)),
    ]
