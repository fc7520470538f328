"""The example of a checkpoint: a model is tried on it, and no text of a document is in it."""

import json
from pathlib import Path

from layoutray import checkpoint
from layoutray.devices import CPU
from layoutray.serving.limits import Limits
from layoutray.serving.model import Loader, Version
from layoutray.serving.submission import word_pages
from layoutray.training.inputs import open_split
from tests.jobs import job, pages, recipe
from tests.training.runs import alone


def test_finetuning_writes_an_example_on_which_the_endpoint_tries_the_model(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("entities", steps=1))
    alone(one)
    assert Loader(CPU).load(Version(str(one.out), "1")).description.tried_on == "its own example"


def test_the_example_has_the_layout_of_a_page_and_not_its_words(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("entities", steps=1))
    alone(one)
    (page,) = word_pages((one.out / checkpoint.EXAMPLE).read_bytes(), Limits()).pages
    (example,) = open_split(one.examples, "train").take([0])
    number_of_words = len(set(example.word_index.tolist()) - {-1})
    assert len(page.words) == number_of_words > 1
    assert (page.width, page.height) == example.page_size
    texts = {tuple(word.text for word in read.words) for read in pages(8)}
    assert tuple(word.text for word in page.words) not in texts


def test_a_model_that_answers_no_documents_has_none(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=1))
    alone(one)
    assert not (one.out / checkpoint.EXAMPLE).exists()
    assert json.loads((one.out / "finished.json").read_text())
