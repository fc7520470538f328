"""Names of documents and word sources, from the data sets."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from layoutray.document import Page, Provenance
from layoutray.prepare import origin
from tests.jobs import pages, write_pages

OCR = Provenance(words="ocr", reason="a picture", engine="tesserocr", version="5.5")


def read(one: Page) -> Page:
    return replace(one, provenance=OCR)


def test_a_data_set_is_called_like_the_folder_of_its_documents(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/manifest.json").write_text(json.dumps({"source": "s3://scans/forms/"}))
    folders = [str(tmp_path / "pages"), str(tmp_path / "mixed"), str(tmp_path / "pages")]
    assert origin.names_of(folders) == ("forms", "mixed")


def test_word_sources_are_named_by_engine_with_the_most_pages_first(tmp_path: Path) -> None:
    annotated, *recognised, other = pages(3, 1)
    folder = write_pages(tmp_path / "ingested", [annotated, *map(read, recognised), other])
    assert origin.word_sources([folder], pc.field("split") == "train") == "tesserocr and annotation"
    assert origin.word_sources([folder], pc.field("split") == "dev") == "annotation"


def test_word_sources_with_engine_version_and_settings_are_counted_by_split(tmp_path: Path) -> None:
    annotated, *recognised, other = pages(3, 1)
    read_otherwise = replace(recognised[0], provenance=replace(OCR, settings='{"dpi":72}'))
    folder = write_pages(tmp_path / "ingested", [annotated, read_otherwise, *map(read, recognised[1:]), other])
    counts = origin.word_source_counts([folder], pc.field("split") == "train")
    assert {(one.name, one.settings): count for one, count in counts.items()} == {
        ("annotation", ""): 1,
        ("tesserocr 5.5", '{"dpi": 72}'): 1,
        ("tesserocr 5.5", "{}"): len(recognised) - 1,
    }
