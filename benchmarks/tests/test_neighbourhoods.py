"""Task neighbourhoods trains LAMBERT's layout embedding, and nothing else."""

from pathlib import Path

import pytest
import torch

from benchmarks.plugins.neighbourhoods import Neighbourhoods
from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from tests.architectures.contract import padded, random_batch
from tests.jobs import job, recipe, vocabulary
from tests.training.runs import alone

TASK = Neighbourhoods()
LAMBERT = {"arch": "lambert", "hidden": 32, "layers": 1, "heads": 2, "feed_forward": 32}


def lambert(task: str, layout: str, **train: float) -> Recipe:
    model = {**LAMBERT, "layout": layout, "position_dropout": "none"}
    return recipes.from_dict(recipe(task, learning_rate=2e-3, **train).to_dict() | {"model": model})


def test_each_word_is_one_target() -> None:
    labels = TASK.corruption(vocabulary())(padded(random_batch()), torch.Generator()).labels
    assert labels is not None
    assert (labels[:, :24:2] == 0).all()
    assert (labels[:, 1:24:2] == -100).all()
    assert (labels[:, 24:] == -100).all()


@pytest.mark.slow
def test_the_embedding_learns_and_the_rest_stays_for_pretraining_to_start_from(tmp_path: Path) -> None:
    one = job(tmp_path, lambert("neighbourhoods", "autoencoder", steps=40))
    before = checkpoint.build_model(one.recipe, vocabulary(), ()).encoder.state_dict()
    series = alone(one)
    first, last = (series["loss"][at][1] for at in (0, -1))
    assert last < 0.7 * first
    assert series["dev.perplexity"][-1][1] < 2
    after = checkpoint.load(one.out).model.encoder.state_dict()
    moved = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    assert moved == {name for name in before if name.startswith("layout.embedding.")}
    words = lambert("masked_lm", "autoencoder", steps=2)
    later = job(tmp_path / "later", words, init=(str(one.out),))
    alone(later)
    assert checkpoint.load(later.out).provenance["fresh"] == []


@pytest.mark.parametrize("layout", ["winding", "graph", "none"])
def test_an_encoder_without_it_is_refused(layout: str) -> None:
    with pytest.raises(InputError, match="trains LAMBERT's autoencoder alone"):
        checkpoint.build_model(lambert("neighbourhoods", layout), vocabulary(), ())
    with pytest.raises(InputError, match="trains LAMBERT's autoencoder alone"):
        checkpoint.build_model(recipe("neighbourhoods"), vocabulary(), ())
