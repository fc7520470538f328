import pytest

from benchmarks.papers.lambert import LAYOUTS, PAPER_F1, SYSTEMS, sizes
from layoutray.errors import InputError
from layoutray.recipe import recipes
from tests.jobs import recipe as small

BERT = ["model.arch=hf", "model.model_type=bert", "model.hidden=64", "model.heads=2", "model.layers=3"]


def test_the_paper_has_a_score_for_every_row() -> None:
    assert all(scores.keys() == SYSTEMS.keys() for scores in PAPER_F1.values())


@pytest.mark.parametrize("row", [*SYSTEMS.values(), *LAYOUTS.values()])
@pytest.mark.parametrize("name", ["pretrain-lambert", "finetune-sroie"])
def test_every_row_has_the_sizes_of_the_starting_checkpoint(row, name: str) -> None:
    keys = {**sizes(recipes.load("pretrain-tiny", BERT)), **row.model}
    model = recipes.load(name, [f"model.{key}={value}" for key, value in keys.items()]).model
    expected = {"arch": "lambert", "core": "bert", "hidden": 64, "heads": 2, "layers": 3, "segments": 2, **row.model}
    assert model.items() >= expected.items()


def test_a_lambert_checkpoint_can_be_the_start() -> None:
    trained = recipes.load("pretrain-lambert", ["model.size=small"])
    assert trained.model.items() >= sizes(trained).items() >= {"core": "bert", "hidden": 384}.items()


def test_a_start_of_another_architecture_is_refused() -> None:
    with pytest.raises(InputError, match="has architecture skimformer; LAMBERT can start from hf or lambert"):
        sizes(small("masked_lm"))
