"""Entities as BIOES: IOB2 pages in, decoding over whole pages, scores and answers as of task `entities`."""

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from layoutray.batching.examples import Example
from layoutray.batching.windows import Window
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.inference.extractor import Extractor
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from layoutray.tasks.word_labels import WordLabelling
from layoutray.tensors import Encoded
from tests.jobs import NO_DROPOUT, job, pages, recipe
from tests.training.runs import alone

TASK = EntitiesBioes()
LABELS = ("O", "B-total", "I-total", "E-total", "S-total")


def page(*tags: str | None) -> Page:
    """A word for each tag, side by side."""
    words = tuple(
        Word(text=f"w{at}", box=Box(at / 10, 0.1, (at + 1) / 10, 0.2), tag=tag) for at, tag in enumerate(tags)
    )
    return Page(
        doc_id="d",
        number=1,
        width=1000,
        height=500,
        words=words,
        source="d.png",
        image="",
        split="train",
        provenance=Provenance(words="annotation", reason=""),
    )


def window(words: range) -> Window:
    """A token for each word, between two special ones."""
    index = np.array([-1, *words, -1], np.int32)
    alone = np.full((len(words), MAX_NEIGHBOURS), -1, np.int32)
    return Window(np.arange(len(index), dtype=np.int32), np.zeros((len(index), 4), np.int32), index, alone)


def example(
    made: Page, number: int, words: range, task: WordLabelling = TASK, labels: tuple[str, ...] = LABELS
) -> Example:
    one, size = window(words), (made.width, made.height)
    targets = np.array(task.targets(made, one, labels), np.int32)
    return Example(
        doc_id="d",
        page=1,
        window=number,
        input_ids=one.input_ids,
        boxes=one.boxes,
        word_index=one.word_index,
        neighbours=one.neighbours,
        page_size=size,
        labels=targets,
    )


class Fixed(torch.nn.Module):
    """The logits that it was given for each word, token by token."""

    def __init__(self, logits: dict[int, list[float]], examples: list[Example]) -> None:
        super().__init__()
        self.logits, self.examples = logits, examples

    def scores(self, batch: object) -> tuple[Encoded, torch.Tensor]:
        rows = torch.tensor(
            [[self.logits.get(word, [0.0] * 5) for word in one.word_index.tolist()] for one in self.examples]
        )
        origin = torch.arange(rows.shape[1]).expand(rows.shape[:2])
        return Encoded(
            states=torch.zeros(*rows.shape[:2], 8), mask=torch.ones(rows.shape[:2], dtype=torch.bool), origin=origin
        ), rows


def test_labels_are_four_tags_of_every_type() -> None:
    assert TASK.label_names([["O", "B-total"], ["I-total", "O"], []]) == LABELS


def test_targets_are_the_pages_entities_whatever_window_they_stand_in() -> None:
    made = page("I-total", "I-total", "B-total", "O", "B-total", "I-total", "I-total")
    whole = TASK.targets(made, window(range(7)), LABELS)
    assert whole == [-100, 1, 3, 4, 0, 1, 2, 3, -100]
    assert TASK.targets(made, window(range(2, 6)), LABELS) == [-100, *whole[3:7], -100]


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (("O", None), "word 1 .'w1'. on page 1 of d.png has no tag"),
        (("O", "B-shop"), "has tag S-shop; the model knows O, B-total"),
        (("O", "title"), "page 1 of d.png: tag 'title' is neither IOB2 nor BIOES"),
    ],
)
def test_a_page_whose_tags_do_not_fit_is_refused(tags: tuple[str | None, ...], message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        TASK.targets(page(*tags), window(range(2)), LABELS)
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_pages_without_entities_cannot_be_learned_from() -> None:
    with pytest.raises(InputError, match="no page has entity tags"):
        TASK.label_names([["O"]])


def test_decoding_runs_over_the_whole_page() -> None:
    """Words 0 to 3 are in two windows of two. Decoded one by one, the first window would end an entity and the second
    would begin one."""
    made = page("B-total", "I-total", "I-total", "O")
    cuts = [example(made, 0, range(2)), example(made, 1, range(2, 4))]
    logits = {0: [0, 9, 0, 0, 0], 1: [0, 0, 2, 1, 0], 2: [0, 0, 0, 3, 0], 3: [5, 0, 0, 0, 0]}
    seen = TASK.observe(Fixed(logits, cuts), None, cuts)  # pyright: ignore[reportArgumentType]
    travelled = pickle.loads(pickle.dumps(list(reversed(seen))))
    (whole,) = TASK.labels_by_page(travelled, LABELS)
    assert whole.gold == whole.predicted == ["B-total", "I-total", "I-total", "O"]
    assert TASK.summarise(travelled, LABELS)["f1"] == 1.0
    assert TASK.confusion(travelled, LABELS) == {("total", "total"): 3, ("O", "O"): 1}
    outputs = [
        (one, torch.softmax(torch.tensor([logits.get(word, [0.0] * 5) for word in one.word_index.tolist()]), -1))
        for one in cuts
    ]
    (entity,) = TASK.answer(made, outputs, LABELS)
    assert (entity.type, entity.words) == ("total", (0, 1, 2))
    shares = [float(outputs[0][1][1, 1]), float(outputs[0][1][2, 2]), float(outputs[1][1][1, 3])]
    assert entity.confidence == pytest.approx(float(np.prod(shares)) ** (1 / 3))


def test_an_illegal_favourite_gives_way() -> None:
    """Each word's best label is I-total, which no sequence may start or end with."""
    made, logits = page("O", "O"), [0.0, 1.0, 3.0, 1.5, 0.5]
    one = example(made, 0, range(2))
    model = Fixed(dict.fromkeys(range(2), logits), [one])
    (seen,) = TASK.observe(model, None, [one])  # pyright: ignore[reportArgumentType]
    (whole,) = TASK.labels_by_page([seen], LABELS)
    assert whole.predicted == ["B-total", "I-total"]


def test_certain_and_impossible_labels_leave_an_answer() -> None:
    """Probabilities of 0 and 1 allow no legal sequence; one that strays least is answered all the same."""
    one = dataclasses.replace(example(page("O", "O", "O"), 0, range(3)), labels=None)
    shares = torch.zeros(5, 5)
    shares[:, 2] = 1.0
    (entity,) = TASK.answer(page(None, None, None), [(one, shares)], LABELS)
    assert entity.words == (0, 1, 2)
    assert TASK.answer(page(), [], LABELS) == ()


def test_a_legal_prediction_scores_as_in_task_entities() -> None:
    """The same predictions, told in either scheme."""
    tags = ("B-total", "O", "B-total", "I-total", "I-total", "O")
    guess = ("B-total", "O", "O", "B-total", "I-total", "B-total")
    scores = {}
    for task, labels in ((TASK, LABELS), (Entities(), LABELS[:3])):
        told = task.true_labels(page(*guess))
        seen = example(page(*tags), 0, range(6), task, labels)
        rows = {word: [float(label == told[word]) for label in labels] for word in range(6)}
        model = Fixed(rows | {-1: [0.0] * len(labels)}, [seen])
        observations = task.observe(model, None, [seen])  # pyright: ignore[reportArgumentType]
        scores[task.name] = task.summarise(observations, labels)
    assert scores["entities"] == scores["entities_bioes"]
    assert scores["entities"]["f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))


def test_a_model_learns_and_answers_receipts(tmp_path: Path) -> None:
    one = job(
        tmp_path, recipe("entities_bioes", model=NO_DROPOUT, steps=70, learning_rate=1e-2, max_length=24), pages(4)
    )
    alone(one)
    extractor = Extractor.load(one.out)
    assert extractor.entity_types == ("date", "total")
    for made, found in zip(pages(4), extractor.extract(pages(4)), strict=True):
        true = Entities().entities_from_tags(made, [word.tag for word in made.words], [1.0] * len(made.words))
        assert [(entity.type, entity.words) for entity in found] == [(entity.type, entity.words) for entity in true]
