"""Pictures by command: of a page and a checkpoint as they lie on disk, and of histories."""

import dataclasses
import re
from pathlib import Path

import pytest
from PIL import Image

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from layoutray.cli.picture import curves
from layoutray.recipe import recipes
from layoutray.tracking import runs
from layoutray.training.reporter import JsonLines
from tests.cluster.checkpoints import save_untrained
from tests.jobs import page, recipe, vocabulary, write_pages
from tests.mlflow_store import new_store


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, and pages of which only the second and third (by id) have a picture."""
    folder = tmp_path_factory.mktemp("pictures")
    save_untrained(folder / "model")
    picture = folder / "page.png"
    Image.new("L", (600, 800), 255).save(picture)
    write_pages(
        folder / "pages", [page(0), *(dataclasses.replace(page(number), image=str(picture)) for number in (1, 2))]
    )
    return folder


def attention(here: Path, *options: str) -> int:
    return main(
        ["picture", "attention", str(here / "model"), str(here / "pages"), "--out", str(here / "out/map.png"), *options]
    )


@pytest.mark.parametrize("unit", [("--unit", "total"), ("--words", "0-1"), ("--box", "0,0,1,0.2")])
def test_a_map_is_drawn_from_each_kind_of_unit(
    here: Path, unit: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert attention(here, *unit) == 0
    assert capsys.readouterr().out == f"{here / 'out/map.png'}\n"
    with Image.open(here / "out/map.png") as picture:
        assert picture.height > 1200


def test_the_page_can_be_chosen_by_id_and_by_source(here: Path) -> None:
    drawn: list[bytes] = []
    for choice in ((), ("--page", "page-receipt-1.png"), ("--source", "receipt-2"), ("--page", "page-receipt-2.png")):
        assert attention(here, "--words", "0-1", *choice) == 0
        drawn.append((here / "out/map.png").read_bytes())
    assert drawn[0] == drawn[1] != drawn[2] == drawn[3]


def test_the_map_is_in_the_checkpoints_run_too(here: Path, tmp_path: Path) -> None:
    run = runs.create_run(new_store(tmp_path), "pictures", "untrained", {}, {})
    run.note(here / "model")
    try:
        assert attention(here, "--words", "0-1", "--tracking-uri", run.uri) == 0
    finally:
        (here / "model/mlflow_run.json").unlink()
    logged = Path(run.client.download_artifacts(run.run_id, "pictures/map.png"))
    assert logged.read_bytes() == (here / "out/map.png").read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--unit", "abstract"), "none of 2 pages with a picture in .* has abstract; labels there: .*total"),
        (("--words", "0-1", "--page", "page-receipt-0.png"), "none of 0 pages with a picture"),
        (("--words", "0-999"), "has words 0 to 999"),
        (("--words", "5-2"), "--words is '5-2'; it must be FIRST-LAST"),
        (("--box", "0,0,1"), "--box is '0,0,1'; it must be X0,Y0,X1,Y1"),
        (("--box", "0,0,1,2"), "must satisfy"),
    ],
)
def test_what_is_not_there_is_refused_by_name(
    here: Path, options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert attention(here, *options) == 1
    assert re.search(said, capsys.readouterr().err)


def trained(folder: Path, seed: int, **train: int) -> str:
    """What a training leaves in `folder` of its perplexity: it depends on the seed."""
    folder.mkdir()
    (folder / "recipe.json").write_text(recipes.to_json(dataclasses.replace(recipe("masked_lm", **train), seed=seed)))
    lines = JsonLines(folder / "history.jsonl")
    for step in (10, 20):
        lines.metrics(step, {"dev.perplexity": 100.0 * seed / step})
    lines.saved(20, folder)
    return str(folder)


def test_runs_that_differ_in_the_seed_alone_are_one_curve(tmp_path: Path) -> None:
    folders = [
        trained(tmp_path / "skim-1", 1),
        trained(tmp_path / "skim-2", 2),
        trained(tmp_path / "other", 3, batch_size=4),
    ]
    runs = {folder: curves._points(folder, "dev.perplexity") for folder in folders}
    assert curves._by_recipe(runs) == {
        "skim": [[(10, 10.0), (20, 5.0)], [(10, 20.0), (20, 10.0)]],
        "other": [[(10, 30.0), (20, 15.0)]],
    }
    assert main(["picture", "curves", *folders, "--out", str(tmp_path / "curves.png")]) == 0
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.size == (960, 540 + 30), "a row of names below the axes"


def test_folders_of_the_same_name_keep_their_curves_apart(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    folders = [trained(tmp_path / "a/skim", 1), trained(tmp_path / "b/skim", 1, batch_size=4)]
    assert list(curves._by_recipe({folder: [] for folder in folders})) == folders


def test_a_folder_without_the_metric_says_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = trained(tmp_path / "skim", 1)
    assert main(["picture", "curves", folder, "--metric", "dev.f1"]) == 1
    assert main(["picture", "curves", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "has no metric dev.f1; it has dev.perplexity" in said
    assert f"{tmp_path} has no history.jsonl" in said


def test_a_model_that_labels_no_words_is_sure_of_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = recipe("masked_lm")
    model = checkpoint.build_model(chosen, vocabulary(), ())
    checkpoint.save(tmp_path / "model", Checkpoint(chosen, (), vocabulary(), model, {}, {}))
    assert main(["picture", "reliability", str(tmp_path / "model"), str(tmp_path)]) == 1
    assert "labels no words" in capsys.readouterr().err


def test_only_png_files_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["picture", "curves", "run", "--out", "curves.pdf"])
    assert "curves.pdf does not end in .png" in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["picture", "curve"]) == 2
    assert "unknown verb 'picture curve'; known: attention, curves, reliability, words" in capsys.readouterr().err
