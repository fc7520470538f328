"""Mixing on a real local Ray: every page of the mix is one of its sources, as it was."""

import dataclasses
import json
from collections import Counter
from pathlib import Path

import pytest

from layoutray.cluster.mix import mix
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.recipe.mix import MixRecipe
from layoutray.store import codec, shards
from layoutray.store.schema import PAGES
from tests.jobs import page

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("cluster")]
RECIPE = MixRecipe(shares={"forms": 0.75, "papers": 0.25})


def ingested(folder: Path, numbers: range, dev: int) -> str:
    """A data set of the pages `numbers`, the last `dev` of them to develop on, in several shards."""
    made = [page(number, "dev" if number >= numbers.stop - dev else "train") for number in numbers]
    for at in range(0, len(made), 5):
        part = made[at : at + 5]
        shards.write(codec.pages_table(part, [one.source for one in part]), str(folder / "pages"), f"part-{at}.parquet")
    return str(folder)


def found(out: Path) -> list[Page]:
    return list(codec.pages_of(shards.read(str(out / "pages"), PAGES)))


def test_shares_are_met_in_each_split_and_pages_are_unchanged(tmp_path: Path) -> None:
    folders = [ingested(tmp_path / "forms", range(34), 4), ingested(tmp_path / "papers", range(100, 120), 2)]
    taken, available = mix(RECIPE, folders, str(tmp_path / "out"))
    assert available == {"forms": {"train": 30, "dev": 4, "test": 0}, "papers": {"train": 18, "dev": 2, "test": 0}}
    assert taken == {"forms": {"train": 30, "dev": 4, "test": 0}, "papers": {"train": 10, "dev": 1, "test": 0}}
    pages = found(tmp_path / "out")
    assert Counter(one.split for one in pages) == {"train": 40, "dev": 5}
    known = {one.doc_id: one for folder in folders for one in found(Path(folder))}
    assert len({one.doc_id for one in pages}) == len(pages)
    assert all(one == known[one.doc_id] for one in pages)
    assert json.loads((tmp_path / "out" / "mix.json").read_text())["pages"] == taken


def test_the_same_mix_again_is_the_same(tmp_path: Path) -> None:
    folders = [ingested(tmp_path / "forms", range(10), 0), ingested(tmp_path / "papers", range(100, 110), 0)]
    recipe = dataclasses.replace(RECIPE, train=8)
    for out in ("a", "b"):
        mix(recipe, folders, str(tmp_path / out))
    assert sorted(one.doc_id for one in found(tmp_path / "a")) == sorted(one.doc_id for one in found(tmp_path / "b"))


def test_a_page_in_two_data_sets_is_refused(tmp_path: Path) -> None:
    folders = [ingested(tmp_path / "forms", range(10), 0), ingested(tmp_path / "papers", range(8, 18), 0)]
    with pytest.raises(InputError, match="2 of 18 pages are in more than one of"):
        mix(RECIPE, folders, str(tmp_path / "out"))


def test_folders_and_shares_have_to_fit_and_nothing_is_overwritten(tmp_path: Path) -> None:
    folders = [ingested(tmp_path / "forms", range(10), 0), ingested(tmp_path / "letters", range(100, 110), 0)]
    with pytest.raises(InputError, match="named forms, letters, the shares forms, papers"):
        mix(RECIPE, folders, str(tmp_path / "out"))
    with pytest.raises(InputError, match=r"has content but no job\.json"):
        mix(MixRecipe(shares={"forms": 0.75, "letters": 0.25}), folders, folders[0])


def test_a_repeated_mix_copies_only_what_is_missing(tmp_path: Path) -> None:
    folders = [ingested(tmp_path / "forms", range(34), 4), ingested(tmp_path / "papers", range(100, 120), 2)]
    out = tmp_path / "out"
    counts = mix(RECIPE, folders, str(out))
    pages = {one.doc_id for one in found(out)}
    lost, *kept = sorted((out / "pages").iterdir())
    times = {file.name: file.stat().st_mtime_ns for file in kept}
    lost.unlink()
    (out / "mix.json").unlink()
    (out / "pages" / ".part-0.parquet.0.part").write_bytes(b"PAR1 half")
    assert mix(RECIPE, folders, str(out)) == counts
    assert {file.name: file.stat().st_mtime_ns for file in (out / "pages").iterdir() if file != lost} == times
    assert {one.doc_id for one in found(out)} == pages
    assert len(found(out)) == len(pages)
    with pytest.raises(InputError, match=r"belongs to another job: recipe\.seed is 42 there and 7 here"):
        mix(dataclasses.replace(RECIPE, seed=7), folders, str(out))
    ingested(tmp_path / "papers", range(100, 140), 2)
    grown, _ = mix(RECIPE, folders, str(out))
    assert grown["papers"]["train"] == 10, "the forms allow no more"
    now = found(out)
    assert len({one.doc_id for one in now}) == len(now) == sum(sum(by_split.values()) for by_split in grown.values())
    assert json.loads((out / "mix.json").read_text())["pages"] == grown
