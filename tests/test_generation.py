"""A writer answers each document for itself."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.generation import Text, TextGenerator
from layoutray.recipe import Recipe
from layoutray.tasks.writer import WritingHead
from tests import jobs
from tests.documents import pages, recipe
from tests.jobs import vocabulary

WHOLES = [pages(number) for number in range(11)]


def untrained(chosen: Recipe) -> Checkpoint:
    """A model whose texts depend on what it reads; those of the first weights repeat the last word."""
    model = checkpoint.build_model(chosen, vocabulary(), ()).eval()
    if isinstance(model.head, WritingHead):
        for layer in model.head.decoder.layers:
            layer.cross_attention.output.weight.data *= 20
    return Checkpoint(chosen, (), vocabulary(), model, {}, {})


def generator(max_length: int = 160, beams: int = 1) -> TextGenerator:
    return TextGenerator(untrained(recipe(max_length=max_length)), torch.device("cpu"), beams)


def test_documents_are_answered_as_each_alone_and_in_order() -> None:
    writer = generator()
    together = writer.write(WHOLES)
    assert together == [writer.write([whole])[0] for whole in WHOLES]
    assert len({text.text for text in together}) > 1
    assert all(text.tokens == text.tokens_read for text in together)


def test_a_document_without_words_has_no_text_and_one_too_long_is_read_in_part() -> None:
    nothing = [replace(WHOLES[0][0], words=())]
    texts = generator(max_length=12).write([nothing, WHOLES[0], []])
    assert texts[0] == texts[2] == Text("", 0, 0)
    assert texts[1].tokens > texts[1].tokens_read == 12


def test_texts_end_at_the_longest_and_beams_are_taken() -> None:
    for beams in (1, 3):
        for text in generator(beams=beams).write(WHOLES[:2]):
            assert len(vocabulary().text_to_ids(text.text)) <= 30


def test_models_that_write_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="small-masked_lm is a model of masked_lm, which writes no texts"):
        TextGenerator(untrained(jobs.recipe("masked_lm")), torch.device("cpu"))
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        TextGenerator.load(tmp_path)
