"""A second ingest into the folder of a data set."""

import dataclasses
from pathlib import Path

import pytest

from layoutray.cluster.ingest import ingest
from layoutray.ocr.settings import Recognition
from layoutray.store import codec, shards, sources
from layoutray.store.schema import PAGES
from tests.cluster.test_ingest import RECIPE, checked, fill, page_ids

pytestmark = [pytest.mark.ray, pytest.mark.ocr]


@pytest.mark.usefixtures("cluster")
def test_pages_of_other_labels_have_the_words_that_were_read_before(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    fill(folder, 2)
    table, heading = folder / "values.csv", "file,field,value\n"
    table.write_text(f"{heading}000.png,total,1\n001.png,total,2\n")
    recipe = dataclasses.replace(RECIPE, reader="values", dev_share=0, recognition=Recognition(engine="tesserocr"))
    checked(ingest(str(folder), str(out), recipe), out)
    before = page_ids(out)
    mark(str(out / "pages"), "kept")
    table.write_text(f"{heading}000.png,date,1\n001.png,date,2\n")
    again = checked(ingest(str(folder), str(out), recipe), out)
    assert (again.run.pages, again.rows) == (2, 2)
    assert not set(page_ids(out)) & set(before)
    words = [word.text for page in codec.pages_of(shards.read(str(out / "pages"), PAGES)) for word in page.words]
    assert words == ["kept"] * 4


def mark(pages: str, text: str) -> None:
    """Give all words of a folder of PAGES this text, as no engine would read it."""
    for uri in shards.shards(pages):
        rows = shards.read(uri, PAGES)
        marked = (
            dataclasses.replace(page, words=tuple(dataclasses.replace(word, text=text) for word in page.words))
            for page in codec.pages_of(rows)
        )
        shards.write(codec.pages_table(marked, rows["page_id"].to_pylist()), pages, sources.name(uri))
