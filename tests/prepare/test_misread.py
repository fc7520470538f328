"""Errors of one's own OCR are learnt from two data sets of any size."""

from dataclasses import replace
from pathlib import Path

from layoutray.prepare.misread import learn_errors

from layoutray.document import Page
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from tests.jobs import pages
from tests.peak_memory import peak_of

PAGES_PER_SHARD = 5


def written(folder: Path, made: list[Page]) -> DataSet:
    data_set = DataSet(str(folder))
    for start in range(0, len(made), PAGES_PER_SHARD):
        part = made[start : start + PAGES_PER_SHARD]
        ids = [f"page-{page.source}" for page in part]
        shards.write(codec.pages_table(part, ids), data_set.pages, shards.part_name(ids))
    return data_set


def eightfold(page: Page) -> Page:
    """The page with its words eight times, one below the other."""
    words = [
        replace(word, box=replace(word.box, y0=(word.box.y0 + copy) / 8, y1=(word.box.y1 + copy) / 8))
        for copy in range(8)
        for word in page.words
    ]
    return replace(page, words=tuple(words))


def test_memory_does_not_grow_with_the_number_of_pages(tmp_path: Path) -> None:
    def learn(count: int) -> None:
        made = [eightfold(page) for page in pages(count)]
        annotated = written(tmp_path / f"{count}/annotated", made)
        read = written(tmp_path / f"{count}/read", made[::-1])
        peaks[count] = peak_of(lambda: found.append(learn_errors(annotated, read).characters))

    peaks: dict[int, int] = {}
    found: list[int] = []
    learn(5)  # imports and caches
    for count in (10, 50):
        learn(count)
    assert found[2] > 3 * found[1]
    assert peaks[50] < 1.5 * peaks[10]
