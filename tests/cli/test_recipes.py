"""The verb `recipes`."""

import pytest

from layoutray.cli import recipes
from layoutray.errors import RecipeError
from layoutray.recipe import files


def test_every_recipe_is_listed_with_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert recipes.main([]) == 0
    listed = dict(line.split("  ", 1) for line in capsys.readouterr().out.splitlines())
    assert [*listed] == sorted(files.shipped())
    assert all(text.strip() for text in listed.values())


def test_a_recipe_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert recipes.main(["finetune-fields"]) == 0
    assert capsys.readouterr().out == (files.RECIPES / "finetune-fields.toml").read_text()


def test_an_unknown_recipe_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"no recipe called 'nothing'; shipped: .*finetune-fields"):
        recipes.main(["nothing"])
