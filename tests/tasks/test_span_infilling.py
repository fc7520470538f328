"""Documents with gaps: what is read and what is to be written make up the document, and a decoder learns to fill in."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import unlabelled_document
from layoutray.document import Page
from layoutray.tasks import HasDecoder, WritesTexts
from layoutray.tasks.span_infilling import SpanInfilling, spans
from layoutray.tensors import Batch
from tests import jobs
from tests.documents import document, pages, recipe, write_documents
from tests.jobs import vocabulary
from tests.training.runs import alone

VOCABULARY = vocabulary()
WHOLES = [pages(number) for number in range(8)]


def batch(wholes: Sequence[Sequence[Page]] = WHOLES) -> Batch:
    made = [unlabelled_document(whole, VOCABULARY, 160)[0] for whole in wholes]
    return collate([example for example in made if example], VOCABULARY.pad_id)


def gapped(seed: int, share: float = 0.3) -> Batch:
    return SpanInfilling(mask_share=share).corruption(VOCABULARY)(batch(), torch.Generator().manual_seed(seed))


def lines(row: torch.Tensor) -> list[list[int]]:
    """The lines of a text to write, without its end."""
    ids = row[row != IGNORED].tolist()
    assert ids.pop() == VOCABULARY.end_id
    found: list[list[int]] = [[]]
    for piece in ids:
        found.append([]) if piece == VOCABULARY.start_id else found[-1].append(piece)
    return found


@pytest.mark.parametrize("share", [0.01, 0.15, 0.5, 1.0])
def test_each_line_fills_its_gap(share: float) -> None:
    whole, given = batch(), gapped(1, share)
    assert given.labels is not None
    for row in range(len(WHOLES)):
        missing, filled = iter(lines(given.labels[row])), []
        for piece in given.input_ids[row][given.mask[row]].tolist():
            filled += next(missing) if piece == VOCABULARY.mask_id else [piece]
        assert filled == whole.input_ids[row][whole.mask[row]].tolist()
        assert list(missing) == []
    assert not given.input_ids[~given.mask].any(), "padding"


@pytest.mark.parametrize(
    ("length", "share", "gone", "count"), [(1000, 0.15, 150, 50), (1000, 1.0, 999, 1), (10, 0.5, 5, 2), (2, 0.1, 1, 1)]
)
def test_spans_are_t5s(length: int, share: float, gone: int, count: int) -> None:
    hidden = spans(length, share, torch.Generator().manual_seed(0))
    assert (len(hidden), int(hidden.sum())) == (length, gone)
    assert int((hidden[1:] & ~hidden[:-1]).sum()) == count
    assert not hidden[0]


def test_of_one_token_nothing_is_hidden() -> None:
    for length in (0, 1):
        assert spans(length, 0.5, torch.Generator()).tolist() == [False] * length


def test_every_way_to_hide_is_drawn() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = {tuple(spans(10, 0.5, generator).tolist()) for _ in range(300)}
    assert len(drawn) == 4 * 4, "5 tokens that are shown and 5 that are hidden, each in 2 parts"


def test_what_is_left_keeps_its_place_and_its_neighbours() -> None:
    whole = batch([[jobs.page(number)] for number in range(8)])
    given = SpanInfilling(mask_share=0.3).corruption(VOCABULARY)(whole, torch.Generator().manual_seed(2))
    assert whole.word_index is not None
    assert whole.neighbours is not None
    assert given.word_index is not None
    assert given.neighbours is not None
    for row in range(len(WHOLES)):
        boxes = {
            int(word): whole.boxes[row][whole.word_index[row] == word][0].tolist()
            for word in whole.word_index[row].unique()
            if word >= 0
        }
        seen, index = given.boxes[row][given.mask[row]], given.word_index[row][given.mask[row]]
        assert index[[0, -1]].tolist() == [-1, -1]
        assert index[1:-1].unique().tolist() == list(range(int(index.max()) + 1))
        places = {int(word): seen[index == word][0].tolist() for word in index.unique() if word >= 0}
        near = {
            tuple(boxes[word]): {tuple(boxes[int(other)]) for other in whole.neighbours[row][word] if other >= 0}
            for word in boxes
        }
        for word, place in places.items():
            others = {tuple(places[int(other)]) for other in given.neighbours[row][word] if other >= 0}
            assert others == {other for other in near[tuple(place)] if list(other) in places.values()}


def test_the_generator_decides_the_gaps() -> None:
    assert torch.equal(gapped(3).input_ids, gapped(3).input_ids)
    assert gapped(3).input_ids.tolist() != gapped(4).input_ids.tolist()


def test_it_makes_its_own_texts() -> None:
    assert SpanInfilling.of_documents
    assert isinstance(SpanInfilling(), HasDecoder)
    assert not isinstance(SpanInfilling(), WritesTexts)


@pytest.mark.slow
def test_a_decoder_learns_to_fill_in_and_hands_on_all_its_weights(tmp_path: Path) -> None:
    write_documents(tmp_path / "ingested", [document(whole) for whole in WHOLES])
    one = jobs.job(tmp_path, recipe("span_infilling", steps=120), [page for whole in WHOLES for page in whole])
    losses = [loss for _, loss in alone(one)["loss"]]
    start, end = (sum(part) / len(part) for part in (losses[:10], losses[-10:]))
    assert start > 3.5
    assert end < 0.7 * start
    assert math.isfinite(checkpoint.load(one.out).metrics["step"])
