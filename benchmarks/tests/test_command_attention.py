"""The picture of a page and a checkpoint as they lie on disk."""

import dataclasses
import re
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.__main__ import main
from layoutray.tracking import runs
from tests.cluster.checkpoints import save_untrained
from tests.jobs import page, write_pages
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
    return main(["attention", str(here / "model"), str(here / "pages"), "--out", str(here / "out/map.png"), *options])


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
