"""The checkpoint that the package brings: the one that its card describes, and what it answers."""

import hashlib
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import torch

from layoutray import checkpoint, start
from layoutray.cli.shared import tracked_training
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.normal_form import normal_form
from layoutray.errors import CheckpointError
from layoutray.inference.by_name import named
from layoutray.inference.extractor import Extractor
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.synthetic.render import render_page
from layoutray.tasks.field_names import asked_fields
from layoutray.tracking import registered
from tests.jobs import encode as encode_pages
from tests.jobs import pages as small_pages
from tests.jobs import recipe

MEGABYTE = 1e6


def test_the_files_are_those_of_the_card_and_take_at_most_25_megabytes() -> None:
    card = (start.FOLDER / "README.md").read_text()
    described = dict(re.findall(r"\| `([\w.]+)` \| `([0-9a-f]{64})` \|", card))
    assert set(described) == set(checkpoint.FILES)
    for name, digest in described.items():
        assert hashlib.sha256((start.FOLDER / name).read_bytes()).hexdigest() == digest, name
    assert sum(file.stat().st_size for file in start.FOLDER.iterdir()) <= 25 * MEGABYTE
    for source in ("CORD", "CC BY 4.0", "Apache-2.0", "generated pages"):
        assert source in card


def drawn(number: int) -> tuple[Page, dict[str, str]]:
    """A generated page that no training has seen, and its values."""
    picture, truth = render_page(Random(f"a page of the test/{number}"))
    width, height = picture.size
    words = tuple(
        Word(text=one["text"], box=Box.from_pixels(one["box"], width, height), line=one["line"])
        for one in truth["words"]
    )
    page = Page(
        doc_id=str(number),
        number=1,
        width=width,
        height=height,
        words=words,
        source=f"{number}.png",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="drawn"),
    )
    return page, truth["fields"]


def test_it_answers_most_totals_dates_and_companies_of_ten_generated_pages_by_their_names() -> None:
    asked = asked_fields("company, date, total")
    extractor = Extractor(named(checkpoint.load(start.FOLDER), asked), "start", torch.device("cpu"))
    counts = Counter[str]()
    for page, truth in map(drawn, range(10)):
        found = {one.name: normal_form(one.content, asked[one.name]) for one in extractor.answer_fields([page])}
        for name in asked.keys() & truth.keys():
            counts["values"] += 1
            counts["right"] += found.get(name) == normal_form(truth[name], asked[name])
    assert counts["right"] >= 0.6 * counts["values"] > 15


def test_its_name_means_these_weights_wherever_a_checkpoint_is_named(tmp_path: Path) -> None:
    resolved = registered.resolve("start", "")
    assert resolved == registered.resolve(resolved, "")
    assert registered.fetch(resolved, "") == str(start.FOLDER)
    assert registered.resolve("./start", "") == str(Path("start").absolute()), "a folder of that name"
    with pytest.raises(CheckpointError, match=r"brings the checkpoint start:[0-9a-f]{12}, not start:0123"):
        registered.fetch("start:0123", "")


@pytest.mark.parametrize(
    ("overrides", "fits"),
    [
        ([], True),
        (["task={name='entities'}"], True),
        (["task={name='masked_lm'}"], False),
        (["model.size=small"], False),
    ],
)
def test_a_training_begins_at_the_start_where_task_sizes_and_vocabulary_fit(
    overrides: list[str], fits: bool, tmp_path: Path
) -> None:
    chosen = recipes.load("finetune-fields", overrides)
    assert isinstance(chosen, Recipe)
    (tmp_path / "tokenizer.json").write_bytes((start.FOLDER / "tokenizer.json").read_bytes())
    assert tracked_training.default_start(chosen, str(tmp_path)) == ((start.resolved(),) if fits else ())
    assert tracked_training.starting_checkpoints(["none"], "") == ()


def test_examples_with_another_vocabulary_do_not_fit(tmp_path: Path) -> None:
    examples = encode_pages(tmp_path, recipe("entities"), small_pages(4))
    assert tracked_training.default_start(recipes.load("finetune-fields"), examples) == ()
