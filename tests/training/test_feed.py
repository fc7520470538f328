"""What each step sees is a function of seed and step, whoever shares the work."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import pytest
import torch

from layoutray import tasks
from layoutray.batching.examples import ExampleSet, TableBlocks
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.prepare.encode import Encoder
from layoutray.recipe.train_section import TrainRecipe
from layoutray.store import codec
from layoutray.store.schema import EXAMPLES
from layoutray.tasks import TagsWords
from layoutray.training.feed import Feed, MicroBatch
from tests.jobs import pages, vocabulary

VOCABULARY = vocabulary()


def feed(
    *, batch_size: int = 8, micro_batch_size: int = 2, seed: int = 5, task: str = "masked_lm", made: Sequence[Page] = ()
) -> Feed:
    made = made or pages(13)
    chosen = tasks.load(task)()
    tags = [[str(word.tag) for word in page.words] for page in made]
    labels = chosen.label_names(tags) if isinstance(chosen, TagsWords) else ()
    encoder = Encoder(task=chosen, max_length=32, labels=labels, vocabulary=VOCABULARY.inner.to_str())
    table, _ = encoder(codec.pages_table(made, [page.source for page in made]))
    corruption = chosen.corruption(VOCABULARY)
    return Feed(
        examples=ExampleSet(TableBlocks(table)),
        corruption=corruption,
        pad_id=VOCABULARY.pad_id,
        mask_id=3,
        settings=TrainRecipe(steps=1, batch_size=batch_size, micro_batch_size=micro_batch_size),
        seed=seed,
        max_length=40,
    )


def with_settings(plain: Feed, **settings: Any) -> Feed:
    return dataclasses.replace(plain, settings=dataclasses.replace(plain.settings, **settings))


def same(one: MicroBatch, other: MicroBatch) -> bool:
    keys = [(example.doc_id, example.window) for example in one.examples] == [
        (example.doc_id, example.window) for example in other.examples
    ]
    tensors = [[value for value in vars(part.batch).values() if value is not None] for part in (one, other)]
    return keys and one.seed == other.seed and all(torch.equal(a, b) for a, b in zip(*tensors, strict=True))


def test_a_step_is_the_same_whenever_and_wherever_it_is_asked_for() -> None:
    first, again = feed(), feed()
    later = [again.training(step, 0, 1) for step in (9, 4, 7)]
    assert all(
        same(a, b)
        for step, got in zip((9, 4, 7), later, strict=True)
        for a, b in zip(first.training(step, 0, 1), got, strict=True)
    )


def test_another_seed_gives_other_batches() -> None:
    assert not same(feed().training(0, 0, 1)[0], feed(seed=6).training(0, 0, 1)[0])


@pytest.mark.parametrize("size", [2, 3, 4])
def test_workers_share_exactly_what_one_process_sees(size: int) -> None:
    one = feed()
    for step in (0, 3):
        alone = one.training(step, 0, 1)
        shared = [one.training(step, rank, size) for rank in range(size)]
        assert {len(part) - len(alone) // size for part in shared} <= {0, 1}, "as evenly as can be"
        turns = [part for round_ in zip_longest(*shared) for part in round_ if part]
        assert all(same(a, b) for a, b in zip(alone, turns, strict=True))


def test_workers_without_work_are_refused() -> None:
    with pytest.raises(InputError, match=r"4 micro-batches per step cannot be shared by 5 workers; .* at least 5"):
        feed().training(0, 0, 5)


def test_an_epoch_holds_every_example_once_and_the_next_is_another_shuffle() -> None:
    one = feed(batch_size=1, micro_batch_size=1, task="entities")
    size = len(one.examples)
    steps = [one.training(step, 0, 1)[0].examples for step in range(4 * size)]
    order = [(example.doc_id, example.window) for batch in steps for example in batch]
    epochs = [order[at : at + size] for at in range(0, 4 * size, size)]
    assert all(set(Counter(epoch).values()) == {1} and len(set(epoch)) == size for epoch in epochs)
    assert epochs[0] != epochs[1]


def test_windows_of_a_step_are_padded_beside_others_of_their_length() -> None:
    # Pages of one to thirteen words, as far as they have so many; a step takes all but one of them.
    made = [dataclasses.replace(page, words=page.words[: number + 1]) for number, page in enumerate(pages(13))]
    one = feed(batch_size=12, micro_batch_size=3, made=made)
    single = feed(batch_size=1, micro_batch_size=1, made=made)
    for step in (0, 1, 5):
        parts = one.training(step, 0, 1)
        lengths = [len(example.input_ids) for part in parts for example in part.examples]
        assert lengths == sorted(lengths)
        assert len(set(lengths)) > 4
        drawn = [example.doc_id for at in range(12) for example in single.training(12 * step + at, 0, 1)[0].examples]
        assert Counter(example.doc_id for part in parts for example in part.examples) == Counter(drawn), (
            "the windows are those of the shuffle"
        )


def test_boxes_are_jittered_in_training_only_and_the_same_way_for_any_number_of_workers() -> None:
    plain = feed()
    moved = with_settings(plain, box_jitter=0.05)
    one, other = plain.training(0, 0, 1)[1], moved.training(0, 0, 1)[1]
    assert torch.equal(one.batch.input_ids, other.batch.input_ids)
    assert not torch.equal(one.batch.boxes, other.batch.boxes)
    assert same(other, moved.training(0, 1, 2)[0])
    assert all(same(a, b) for a, b in zip(plain.evaluation(0, 1), moved.evaluation(0, 1), strict=True))


def test_words_are_masked_in_training_only_and_the_same_way_for_any_number_of_workers() -> None:
    plain = feed()
    masked = with_settings(plain, word_masking=0.3)
    one, other = plain.training(0, 0, 1)[1], masked.training(0, 0, 1)[1]
    assert torch.equal(one.batch.boxes, other.batch.boxes)
    assert not torch.equal(one.batch.input_ids, other.batch.input_ids)
    assert same(other, masked.training(0, 1, 2)[0])
    assert all(same(a, b) for a, b in zip(plain.evaluation(0, 1), masked.evaluation(0, 1), strict=True))


def test_masks_change_from_step_to_step() -> None:
    one = feed(batch_size=26, micro_batch_size=26)
    seeds = {one.training(step, 0, 1)[0].seed for step in range(20)}
    assert len(seeds) == 20


@pytest.mark.parametrize("size", [1, 2, 3])
def test_evaluation_sees_every_example_once_the_same_way(size: int) -> None:
    one = feed(micro_batch_size=4)
    parts = [list(one.evaluation(rank, size)) for rank in range(size)]
    seen = Counter((example.doc_id, example.window) for share in parts for part in share for example in part.examples)
    assert set(seen.values()) == {1}
    assert len(seen) == len(one.examples)
    alone = list(one.evaluation(0, 1))
    assert all(any(same(part, other) for other in alone) for share in parts for part in share)


def test_a_budget_of_tokens_makes_micro_batches_smaller_where_windows_are_long() -> None:
    made = [dataclasses.replace(page, words=page.words[: number + 1]) for number, page in enumerate(pages(13))]
    plain = feed(batch_size=12, micro_batch_size=6, made=made)
    budget = 40
    limited = with_settings(plain, micro_batch_tokens=budget)
    for step in (0, 3):
        parts = limited.training(step, 0, 1)
        assert all(len(part.examples) == 1 or part.batch.mask.numel() <= budget for part in parts)
        assert len({len(part.examples) for part in parts}) > 1, "micro-batches have different numbers of windows"
        drawn = [
            [example.doc_id for part in one.training(step, 0, 1) for example in part.examples]
            for one in (plain, limited)
        ]
        assert drawn[0] == drawn[1], "the windows of the step are the same"
        shared = [limited.training(step, rank, 2) for rank in range(2)]
        turns = [part for round_ in zip_longest(*shared) for part in round_ if part]
        assert all(same(a, b) for a, b in zip(parts, turns, strict=True))


def test_lengths_are_multiples_and_count_for_the_budget_of_tokens() -> None:
    made = [dataclasses.replace(page, words=page.words[: number + 1]) for number, page in enumerate(pages(13))]
    plain = feed(batch_size=12, micro_batch_size=6, made=made)
    parts = with_settings(plain, micro_batch_tokens=96, pad_to_multiple_of=16).training(0, 0, 1)
    assert {part.batch.mask.shape[1] for part in parts} <= {16, 32, 40}
    assert all(part.batch.mask.numel() <= 96 for part in parts)
    seen = [[example.doc_id for part in one for example in part.examples] for one in (parts, plain.training(0, 0, 1))]
    assert Counter(seen[0]) == Counter(seen[1]), "the windows of the step are the same"


def test_an_empty_set_is_refused() -> None:
    one = feed()
    with pytest.raises(InputError, match="no examples to feed"):
        dataclasses.replace(one, examples=ExampleSet(TableBlocks(EXAMPLES.empty_table())))
