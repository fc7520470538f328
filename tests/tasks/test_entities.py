"""Entities: tags to targets and back, through windows that cut words and pages."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from layoutray.batching.collate import IGNORED
from layoutray.batching.examples import Example
from layoutray.batching.windows import cut, first_pieces
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.tasks.entities import Entities
from layoutray.tasks.entities_bioes import EntitiesBioes
from layoutray.tasks.word_labels import WindowLabels
from layoutray.tensors import Encoded
from tests.jobs import vocabulary

TASK = Entities()
LABELS = ("O", "B-date", "I-date", "B-total", "I-total")
VOCABULARY = vocabulary()


def page(*words: tuple[str, str | None, int]) -> Page:
    """Words of (text, tag, line), side by side."""
    placed = tuple(
        Word(text=text, box=Box(column / 10, line / 10, (column + 1) / 10, (line + 1) / 10), line=line, tag=tag)
        for column, (text, tag, line) in enumerate(words)
    )
    return Page(
        doc_id="d",
        number=3,
        width=1000,
        height=500,
        words=placed,
        source="d.png",
        image="",
        split="train",
        provenance=Provenance(words="annotation", reason=""),
    )


def examples(made: Page, max_length: int, *, labelled: bool = True) -> list[Example]:
    boxes = np.zeros((len(made.words), 4), np.int32)
    cuts = cut([word.text for word in made.words], boxes, VOCABULARY, max_length)
    targets = [np.array(TASK.targets(made, one, LABELS), np.int32) if labelled else None for one in cuts]
    return [
        Example(
            doc_id="d",
            page=3,
            window=number,
            input_ids=one.input_ids,
            boxes=one.boxes,
            word_index=one.word_index,
            neighbours=one.neighbours,
            page_size=(made.width, made.height),
            labels=target,
        )
        for number, (one, target) in enumerate(zip(cuts, targets, strict=True))
    ]


def scored(example: Example, chosen: dict[int, tuple[int, float]]) -> tuple[Example, torch.Tensor]:
    """Probabilities: at the first token of word `w`, `chosen[w][1]` for label `chosen[w][0]`; 1 for date elsewhere."""
    shares = torch.zeros(len(example.input_ids), len(LABELS))
    shares[:, 1] = 1.0
    for token in np.flatnonzero(first_pieces(example.word_index)):
        label, share = chosen.get(int(example.word_index[token]), (0, 1.0))
        shares[token] = (1 - share) / (len(LABELS) - 1)
        shares[token, label] = share
    return example, shares


def test_labels_are_both_tags_of_every_type() -> None:
    assert TASK.label_names([["O", "B-total"], ["I-date", "O"], []]) == LABELS


@pytest.mark.parametrize(
    ("tags", "message"),
    [([["O"]], "no page has entity tags"), ([["O", "paragraph"]], "'paragraph' is neither IOB2 nor BIOES")],
)
def test_pages_without_entities_cannot_be_learned_from(tags: list[list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TASK.label_names(tags)


def test_targets_stand_on_first_pieces() -> None:
    made = page(("total", "O", 0), ("99999999", "B-total", 0), ("88888888", "I-total", 0))
    one = examples(made, 512)[0]
    assert one.labels is not None
    first = first_pieces(one.word_index)
    assert one.labels[first].tolist() == [0, 3, 4]
    assert (one.labels[~first] == IGNORED).all()
    assert (~first).sum() > 2, "some word has more than one piece"


@pytest.mark.parametrize(
    ("tag", "message"),
    [(None, "word 1 .'b'. on page 3 of d.png has no tag"), ("B-shop", "has tag B-shop; the model knows O, B-date")],
)
def test_a_word_without_a_tag_that_the_model_knows_is_refused(tag: str | None, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        examples(page(("a", "O", 0), ("b", tag, 0)), 512)
    assert caught.value.reason is Reason.BAD_ANNOTATION


def test_a_word_cut_by_a_border_counts_once() -> None:
    made = page(("99999999", "B-date", 0), ("88888888", "I-date", 0), ("cash", "O", 0))
    cuts = examples(made, 4)
    assert sum(0 in one.word_index for one in cuts) > 1, "the first word is in several windows"

    class Oracle(torch.nn.Module):
        """Scores that are right on the first window of a word, and wrong where it goes on."""

        def scores(self, batch: object) -> tuple[Encoded, torch.Tensor]:
            logits = torch.zeros(len(cuts), max(len(one.input_ids) for one in cuts), len(LABELS))
            seen: set[int] = set()
            for row, one in enumerate(cuts):
                for token in np.flatnonzero(first_pieces(one.word_index)):
                    word = int(one.word_index[token])
                    logits[row, token, 3 if word in seen else LABELS.index(str(made.words[word].tag))] = 1.0
                    seen.add(word)
            origin = torch.arange(logits.shape[1]).expand(logits.shape[:2])
            sizes = torch.tensor([len(one.input_ids) for one in cuts])
            return Encoded(states=logits, mask=origin < sizes[:, None], origin=origin), logits

    seen = TASK.observe(Oracle(), None, cuts)  # pyright: ignore[reportArgumentType]
    (whole,) = TASK.labels_by_page(list(reversed(seen)), LABELS)
    assert whole.gold == whole.predicted == ["B-date", "I-date", "O"]
    assert TASK.summarise(seen, LABELS) == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "support": 1.0,
        "precision.date": 1.0,
        "recall.date": 1.0,
        "f1.date": 1.0,
        "support.date": 1.0,
    }


def test_confidences_and_temperature_are_of_the_words_that_the_model_saw() -> None:
    made = page(("9", "B-date", 0), ("8", "I-date", 0), ("cash", "O", 0), ("7", "B-total", 0))
    (one,) = examples(made, 512)
    places = {
        int(word): int(token)
        for token, word in enumerate(one.word_index)
        if word >= 0 and first_pieces(one.word_index)[token]
    }
    logits = torch.zeros(1, len(one.input_ids), len(LABELS))
    for word, label in ((0, 1), (1, 2), (2, 2), (3, 3)):
        logits[0, places[word], label] = 4.0

    def seen(dropped: set[int]) -> list[WindowLabels]:
        class Dropping(torch.nn.Module):
            def scores(self, batch: object) -> tuple[Encoded, torch.Tensor]:
                origin = torch.tensor([[token for token in range(logits.shape[1]) if token not in dropped]])
                kept = logits[:, origin[0]]
                return Encoded(states=kept, mask=torch.ones_like(origin, dtype=torch.bool), origin=origin), kept

        return TASK.observe(Dropping(), None, [one])  # pyright: ignore[reportArgumentType]

    confidences, correct = TASK.confidences(seen(set()), LABELS, 2.0)
    assert confidences == pytest.approx([math.exp(2) / (math.exp(2) + 4)] * 4)
    assert correct.tolist() == [True, True, False, True]
    # Of four equal scores with one error, the best probability is 3 in 4: exp(4 / T) = 12.
    assert TASK.temperature(seen(set())) == pytest.approx(4 / math.log(12), rel=1e-3)
    without = seen({places[3]})
    assert TASK.confidences(without, LABELS, 2.0)[0][3] == pytest.approx(1.0)
    assert TASK.confidences(without, LABELS, 2.0)[1].tolist() == [True, True, False, False], (
        "a dropped word is in no entity, for certain"
    )
    assert TASK.temperature(without) == pytest.approx(4 / math.log(8), rel=1e-3)
    assert TASK.temperature([]) == 1
    assert TASK.confidences([], LABELS, 1.0)[0].shape == (0,)


def test_an_answer_has_the_words_the_mean_confidence_and_a_region_per_line() -> None:
    made = page(("Date:", None, 0), ("Nov", None, 0), ("21", None, 1), ("cash", None, 1))
    outputs = [scored(one, {1: (1, 0.9), 2: (2, 0.4)}) for one in examples(made, 512, labelled=False)]
    (entity,) = TASK.answer(made, outputs, LABELS)
    assert (entity.type, entity.content, entity.words) == ("date", "Nov 21", (1, 2))
    assert entity.confidence == pytest.approx(math.sqrt(0.9 * 0.4))
    assert [region.page_number for region in entity.bounding_regions] == [3, 3]
    assert entity.bounding_regions[0].polygon == (100, 0, 200, 0, 200, 50, 100, 50)
    assert entity.bounding_regions[1].polygon == (200, 50, 300, 50, 300, 100, 200, 100)


def test_an_answer_joins_what_windows_have_cut() -> None:
    made = page(*[(text, None, 0) for text in ("99999999", "88888888", "cash", "77")])
    chosen = {0: (3, 0.8), 1: (4, 0.8), 3: (3, 0.7)}
    cuts = examples(made, 5, labelled=False)
    starts = [
        set(one.word_index.tolist()) - set(before.word_index.tolist() if before else [])
        for before, one in pairwise([None, *cuts])
    ]
    assert any(0 in one.word_index for one in cuts[1:]), (
        "the first word goes on in the second window, where it is taken for a date"
    )
    outputs = [
        scored(one, {word: chosen.get(word, (0, 1.0)) if word in new else (1, 1.0) for word in range(4)})
        for one, new in zip(cuts, starts, strict=True)
    ]
    found = TASK.answer(made, outputs, LABELS)
    assert [(entity.type, entity.content) for entity in found] == [("total", "99999999 88888888"), ("total", "77")]
    assert [entity.confidence for entity in found] == pytest.approx([0.8, 0.7])


def test_true_tags_mark_entities_and_words_without_a_tag_are_in_none() -> None:
    made = page(("Nov", "B-date", 0), ("21", None, 0), ("9.00", "B-total", 0), ("cash", "O", 0))
    found = TASK.entities_from_tags(made, [word.tag for word in made.words], [1.0] * 4)
    assert [(entity.type, entity.words) for entity in found] == [("date", (0,)), ("total", (2,))]


def test_a_value_of_a_field_that_is_a_part_of_its_words_has_its_content_and_region() -> None:
    made = page(("Date:", "B-date", 0), ("14/02/20185:37PM", "I-date", 0), ("9.00", "B-total", 0))
    words = [replace(word, box=Box(at, 0, at + 0.16, 1)) for at, word in zip((0.0, 0.2, 0.4), made.words, strict=True)]
    made = replace(made, words=tuple(words))
    task = Entities(fields={"date": FieldType(type="date")})
    date, total = task.entities_from_tags(made, [word.tag for word in made.words], [0.5, 0.5, 1.0])
    assert (date.content, date.words, date.confidence) == ("14/02/2018", (1,), pytest.approx(0.5))
    (region,) = date.bounding_regions
    assert region.polygon == pytest.approx(Box(0.2, 0, 0.3, 1).polygon(made.width, made.height))
    assert total.content == "9.00", "it has no field"


@pytest.mark.parametrize(("task", "begin"), [(Entities, "B-date"), (EntitiesBioes, "S-date")])
def test_the_most_probable_value_of_a_required_field_is_an_answer_where_none_is_certain(
    task: type[Entities], begin: str
) -> None:
    """The first word is no date, though it is the likeliest beginning of one."""
    made = page(("Date:", None, 0), ("14/02/2018", None, 0), ("15/02/2018", None, 0), ("9.00", None, 0))
    labels = task().label_names([["B-date"]])
    shares = np.zeros((4, len(labels)), np.float32)
    shares[:, labels.index(begin)] = [0.3, 0.2, 0.1, 0.0]
    shares[:, 0] = 1 - shares.sum(axis=1)
    optional, required = (task(fields={"date": FieldType(type="date", required=needed)}) for needed in (False, True))
    assert optional.entities_from_probabilities(made, shares, labels) == ()
    (found,) = required.entities_from_probabilities(made, shares, labels)
    assert (found.content, found.words, found.confidence) == ("14/02/2018", (1,), pytest.approx(0.2))
    shares[2] = np.eye(len(labels))[labels.index(begin)]
    (found,) = required.entities_from_probabilities(made, shares, labels)
    assert (found.content, found.confidence) == ("15/02/2018", 1.0), "a certain value needs no other"
    shares[:, 1:] = 0.0001
    shares[:, 0] = 1 - shares[:, 1:].sum(axis=1)
    assert required.entities_from_probabilities(made, shares, labels) == (), "no word may begin a date"


@pytest.mark.parametrize(("task", "begin", "inside"), [(Entities, "B", "I"), (EntitiesBioes, "S", "E")])
def test_guesses_are_the_next_most_probable_values_of_fields_with_one_value(
    task: type[Entities], begin: str, inside: str
) -> None:
    texts = ("Date:", "14/02/2018", "12", "May", "2019", "14/02/2018", "1/1/2020", "2/2/2022", "9.00")
    made = page(*((text, None, 0) for text in texts))
    labels = task().label_names([["B-date", "B-paid", "B-total"]])
    shares = np.zeros((len(texts), len(labels)), np.float32)
    shares[:, labels.index(f"{begin}-date")] = [0.3, 0.2, 0.1, 0, 0, 0.05, 0.02, 0.0005, 0]
    shares[[3, 4], labels.index(f"{inside}-date")] = [0.06, 0.05]
    shares[6, labels.index(f"{begin}-paid")] = 0.5
    shares[:, 0] = 1 - shares.sum(axis=1)
    of_words = np.arange(len(texts), dtype=np.int32)
    empty = np.zeros((0, 4), np.int32)
    window = Example(
        doc_id="d", page=3, window=0, input_ids=of_words, boxes=empty, word_index=of_words, neighbours=empty,
        page_size=(1, 1), labels=None,
    )  # fmt: skip
    fields = {"date": FieldType(type="date"), "paid": FieldType(type="date", many=True), "total": FieldType()}
    outputs = [(window, torch.from_numpy(shares))]
    candidates = task(fields=fields).candidates(made, outputs, labels, ())
    assert [(one.type, one.content) for one in candidates] == [
        ("date", "14/02/2018"),
        ("date", "12 May 2019"),
        ("date", "1/1/2020"),
    ]
    assert [one.words for one in candidates] == [(1,), (2, 3, 4), (6,)]
    assert candidates[1].confidence == pytest.approx((0.1 * 0.06 * 0.05) ** (1 / 3))
    assert task(fields=fields).candidates(made, outputs, labels, candidates[:1]) == candidates[1:], "that one is found"


def test_amounts_of_fields_that_are_sums_say_whether_they_are_the_sum_of_the_rows() -> None:
    """Each word of `page` is a row of its own."""
    made = page(*((text, None, line) for line, text in enumerate(("2.50", "3.00", "5.50", "10.00"))))
    labels = ("O", "B-tax", "I-tax", "B-total", "I-total")
    shares = np.zeros((4, len(labels)), np.float32)
    shares[[0, 1, 2, 3], [0, 1, 3, 3]] = 1.0
    task = Entities(fields={"tax": FieldType(type="amount"), "total": FieldType(type="amount", is_sum=True)})
    found = task.entities_from_probabilities(made, shares, labels)
    assert [(one.content, one.sum_of_rows) for one in found] == [("3.00", None), ("5.50", True), ("10.00", False)]
    assert not any(one.near_amount for one in found)
    without = replace(made, words=(*made.words[1:3], replace(made.words[3], text="5.52")))
    found = task.entities_from_probabilities(without, shares[1:], labels)
    assert [one.sum_of_rows for one in found] == [None, None, None], "the page states no sum"
    assert [one.near_amount for one in found] == [False, True, True], "of fields with is_sum"


def test_a_page_without_words_has_no_entities() -> None:
    assert TASK.answer(page(), [], LABELS) == ()
