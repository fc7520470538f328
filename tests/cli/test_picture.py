"""Pictures by command: of a page and a checkpoint as they lie on disk, and of histories."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from layoutray import checkpoint, config
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from layoutray.cli.picture import curves
from layoutray.cli.picture import selection as selection_picture
from layoutray.inference.generation import TextGenerator
from layoutray.report.attention_map import RAMP
from layoutray.store import codec, shards
from layoutray.tracking import runs
from layoutray.training.reporter import JsonLines
from tests import documents
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


def test_the_graph_of_the_first_page_and_of_a_chosen_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn: list[bytes] = []
    for choice in ((), ("--page", "page-receipt-1.png"), ("--source", "receipt-2")):
        assert main(["picture", "graph", str(here / "pages"), "--out", str(here / "out/graph.png"), *choice]) == 0
        drawn.append((here / "out/graph.png").read_bytes())
    assert drawn[0] == drawn[1] != drawn[2]
    assert capsys.readouterr().out == f"{here / 'out/graph.png'}\n" * 3


def test_a_graph_needs_a_page_with_a_picture(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["picture", "graph", str(here / "pages"), "--page", "page-receipt-0.png"]) == 1
    assert "that matches the options has words and a picture" in capsys.readouterr().err


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint that writes, and a document of two pages with a picture."""
    folder = tmp_path_factory.mktemp("selections")
    chosen = documents.recipe()
    checkpoint.save(
        folder / "model", Checkpoint(chosen, (), vocabulary(), checkpoint.build_model(chosen, vocabulary(), ()), {}, {})
    )
    Image.new("L", (600, 800), 255).save(folder / "page.png")
    pages = [dataclasses.replace(one, image=str(folder / "page.png")) for one in documents.pages(0)]
    documents.write_documents(folder / "pages", [documents.document(pages)])
    shards.write(codec.pages_table(pages, ["first", "second"]), str(folder / "pages/pages"), "part-one.parquet")
    return folder


def test_each_page_shows_what_is_kept_of_it(written: Path) -> None:
    drawn: list[Image.Image] = []
    for page_id in ("first", "second"):
        arguments = [
            "picture",
            "selection",
            str(written / "model"),
            str(written / "pages"),
            "--out",
            str(written / "kept.png"),
        ]
        assert main([*arguments, "--page", page_id]) == 0
        with Image.open(written / "kept.png") as picture:
            drawn.append(picture.copy())
    pages = documents.pages(0)
    (selection,) = TextGenerator.load(written / "model").selections([pages])
    first = len(pages[0].words)
    kept = [
        [word.number for word in selection.words if word.number < first],
        [word.number - first for word in selection.words if word.number >= first],
    ]
    assert all(kept)
    for shown, numbers, picture in zip(pages, kept, drawn, strict=True):
        for number, word in enumerate(shown.words):
            x0, y0, x1, y1 = word.box.to_pixels(900, 1200)
            here = picture.getpixel(
                (205 + int((x0 + x1) / 2), 126 + int(y0 + (y1 - y0) / 4))
            )  # notes lead to the middle of words
            assert (here in RAMP) == (number in numbers)


def test_what_a_model_has_not_read_is_not_shown_as_left_out(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen, whole = documents.recipe(max_length=20), documents.pages(0)
    checkpoint.save(
        tmp_path, Checkpoint(chosen, (), vocabulary(), checkpoint.build_model(chosen, vocabulary(), ()), {}, {})
    )
    (selection,) = TextGenerator.load(tmp_path).selections([whole])
    assert 0 < selection.read < len(whole[0].words)
    shares = selection_picture.shares_of(selection, whole[0], whole)
    name, kept = selection_picture.caption(whole[0], shares)
    assert name.endswith(f", page 1; the model reads the first {selection.read} of {len(whole[0].words)} words")
    assert kept.startswith(f"{len(selection.words)} of {selection.read} words")
    arguments = ["picture", "selection", str(tmp_path), str(written / "pages"), "--out", str(tmp_path / "kept.png")]
    assert main(arguments) == 0, "the first page of the first document is the one to show"
    assert main([*arguments, "--page", "second"]) == 1
    assert f"reads only the first {selection.read} words" in capsys.readouterr().err


def test_a_selection_needs_a_model_that_writes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["picture", "selection", str(here / "model"), str(here / "pages")]) == 1
    assert "which generates no texts" in capsys.readouterr().err


def trained(folder: Path, seed: int, **train: int) -> str:
    """What a training leaves in `folder` of its perplexity: it depends on the seed."""
    folder.mkdir()
    (folder / "recipe.json").write_text(
        json.dumps(config.to_dict(dataclasses.replace(recipe("masked_lm", **train), seed=seed)))
    )
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
        main(["picture", "graph", "pages", "--out", "graph.pdf"])
    assert "graph.pdf does not end in .png" in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["picture", "curve"]) == 2
    assert (
        "unknown verb 'picture curve'; known: attention, curves, graph, reliability, selection, words"
        in capsys.readouterr().err
    )
