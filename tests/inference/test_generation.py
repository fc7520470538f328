"""A writer answers each document for itself."""

import itertools
import math
import operator
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled_document
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError, InputError
from layoutray.inference.generation import Text, TextGenerator
from layoutray.inference.selection import Selection
from layoutray.nn.beam_search import BeamSearchSettings, beam_search
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.tasks.text_generation import TextGenerationHead
from tests import jobs
from tests.documents import pages, recipe, with_writing
from tests.jobs import vocabulary

WHOLES = [pages(number) for number in range(11)]


def untrained(chosen: Recipe) -> Checkpoint:
    """A model whose texts depend on what it reads; those of the first weights repeat the last word."""
    model = checkpoint.build_model(chosen, vocabulary(), ()).eval()
    if isinstance(model.head, TextGenerationHead):
        for layer in model.head.decoder.layers:
            layer.cross_attention.output.weight.data *= 20
    return Checkpoint(recipe=chosen, labels=(), tokenizer=vocabulary(), model=model, metrics={}, provenance={})


def generator(max_length: int = 160, beams: int = 1) -> TextGenerator:
    return TextGenerator(untrained(recipe(max_length=max_length)), torch.device("cpu"), beams)


def test_documents_are_answered_as_each_alone_and_in_order() -> None:
    writer = generator()
    together = writer.write(WHOLES)
    for one, whole in zip(together, WHOLES, strict=True):
        (alone,) = writer.write([whole])
        assert (one.text, one.tokens) == (alone.text, alone.tokens)
        assert [line.text for line in one.lines] == [line.text for line in alone.lines]
        assert [line.probability for line in one.lines] == pytest.approx(
            [line.probability for line in alone.lines], rel=1e-3
        )
    assert len({text.text for text in together}) > 1
    assert all(text.tokens == text.tokens_read for text in together)


def test_a_document_without_words_has_no_text_and_one_too_long_is_read_in_part() -> None:
    nothing = [replace(WHOLES[0][0], words=())]
    texts = generator(max_length=12).write([nothing, WHOLES[0], []])
    assert texts[0] == texts[2] == Text("", 0, 0)
    assert texts[0].lines == ()
    assert texts[1].tokens > texts[1].tokens_read == 12


def test_texts_end_at_the_longest_and_beams_are_taken() -> None:
    for beams in (1, 3):
        for text in generator(beams=beams).write(WHOLES[:2]):
            assert len(vocabulary().text_to_ids(text.text)) <= 30


def writing(**changes: int) -> Checkpoint:
    """A model whose recipe says how texts are written."""
    return untrained(with_writing(recipe(), **changes))


def test_texts_are_as_long_as_the_recipe_says() -> None:
    often = vocabulary().text_to_ids(generator().write(WHOLES[:1])[0].text)[0]
    lengths = {}
    for least in (0, 25, 30):
        loaded = writing(min_length=least)
        ending_early = replace(loaded, tokenizer=replace(loaded.tokenizer, end_id=often))
        texts = TextGenerator(ending_early, torch.device("cpu")).write(WHOLES)
        lengths[least] = [len(vocabulary().text_to_ids(text.text)) for text in texts]
    assert min(lengths[0]) < 25 <= min(lengths[25])
    assert {*lengths[30]} == {30}


def test_texts_repeat_nothing_where_the_recipe_says_so() -> None:
    texts = {
        size: TextGenerator(writing(no_repeat=size), torch.device("cpu")).write(WHOLES[:1])[0].text for size in (0, 1)
    }
    for size, text in texts.items():
        characters = Counter(text.replace("\n", ""))
        assert (max(characters.values()) > 20) == (size == 0), "an untrained model says the same again and again"


@torch.no_grad()
def test_each_line_has_the_probability_of_its_words_and_its_end() -> None:
    found = {word for text in generator().write(WHOLES) for word in vocabulary().text_to_ids(text.text)}
    several = 0
    for often in sorted(found)[:8]:  # so that an untrained model writes lines
        loaded = untrained(recipe())
        table = replace(loaded.tokenizer, start_id=often)
        (text,) = TextGenerator(replace(loaded, tokenizer=table), torch.device("cpu")).write(WHOLES[:1])
        example, _ = unlabelled_document(WHOLES[0], table, 160)
        assert example is not None
        encoded = loaded.model.encoded(collate([example], table.pad_id))
        best = beam_search(
            loaded.model.head.decoder, encoded, BeamSearchSettings(start_id=often, end_id=table.end_id, max_length=30)
        )
        words, sums = best.tokens[0, 0].tolist(), best.log_probabilities[0, 0].tolist()
        length = len([word for word in words if word != table.pad_id])
        places = [*(place for place, word in enumerate(words) if word == often), length]
        assert [line.text for line in text.lines] == text.text.split("\n")
        running = itertools.accumulate((line.probability for line in text.lines), operator.mul)
        assert [*running] == pytest.approx([math.exp(sums[place]) for place in places], rel=1e-3)
        several += len(places) > 1
    assert several


@torch.no_grad()
def test_copies_name_the_words_that_the_tokens_were_copied_from() -> None:
    """An untrained pointer copies nearly everything: each copied piece is a part of its word."""
    copying = recipe()
    settings = replace(copying.task.writing, decoder=replace(copying.task.writing.decoder, copying="pointer"))
    loaded = untrained(replace(copying, task=replace(copying.task, writing=settings)))
    loaded.model.head.decoder.pointer.gate[2].bias.data.fill_(30)
    found = 0
    for text, whole in zip(TextGenerator(loaded, torch.device("cpu")).write(WHOLES), WHOLES, strict=True):
        words = [word.text.casefold() for page in whole for word in page.words]
        for line in text.lines:
            begins = [0, *(copy.end for copy in line.copies)]
            for begin, copy in zip(begins, line.copies, strict=False):
                piece = "".join(line.text[begin : copy.end].split())
                assert piece
                assert piece in words[copy.word]
                found += 1
    assert found > 20


def test_recipes_of_older_checkpoints_have_decoders_that_do_not_copy() -> None:
    stored = recipe().to_dict()
    del stored["task"]["writing"]["decoder"]["copying"]
    assert recipes.from_dict(stored) == recipe()


def test_models_that_write_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="small-masked_lm is a model of task masked_lm, which generates no texts"):
        TextGenerator(untrained(jobs.recipe("masked_lm")), torch.device("cpu"))
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        TextGenerator.load(tmp_path)


def test_what_is_kept_of_a_document_does_not_depend_on_the_others() -> None:
    writer = generator()
    together = writer.selections(WHOLES[:4])
    assert together == [writer.selections([whole])[0] for whole in WHOLES[:4]]
    for text, selection, whole in zip(writer.write(WHOLES[:4]), together, WHOLES, strict=False):
        assert selection.kept == -(-text.tokens_read // 2), "one state in two"
        numbers = [word.number for word in selection.words]
        assert numbers == sorted(set(numbers))
        assert 0 <= numbers[0] <= numbers[-1] < sum(len(page.words) for page in whole)
        assert sum(word.states for word in selection.words) <= selection.kept
        assert all(0 < word.weight <= word.states for word in selection.words)
    assert writer.selections([[]]) == [Selection(0, 0, ())]


def test_what_is_beyond_the_longest_text_is_not_kept() -> None:
    (found,) = generator(max_length=12).selections(WHOLES[:1])
    assert found.kept == 6
    assert found.words[-1].number < 10


def test_a_model_that_keeps_all_shows_no_selection() -> None:
    writer = TextGenerator(untrained(recipe(model={"encoder": "vanilla"})), torch.device("cpu"))
    assert not writer.shows_selection
    with pytest.raises(InputError, match=r"small-summary does not pool tokens by weighted sums; take one that pools"):
        writer.selections(WHOLES[:1])
