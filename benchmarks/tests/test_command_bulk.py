"""The benchmark of bulk prediction at a minimal size, and its generated pages and model."""

import json
from pathlib import Path

import pytest

from benchmarks.commands.bulk import main
from benchmarks.measure.generated_model import save_model
from benchmarks.measure.generated_pages import random_pages, write_pages
from layoutray.devices import CPU
from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.store import codec
from layoutray.store.data_set import DataSet


@pytest.mark.ray
@pytest.mark.slow
def test_prediction_is_compared_with_the_bare_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--pages", "128", "200", "--words", "10", "--scratch", str(tmp_path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {count: costs[0]["pages"] for count, costs in report["bulk"].items()} == {"128": 64, "200": 136}
    for cost in (costs[0] for costs in report["bulk"].values()):
        assert min(cost["core_seconds"], cost["seconds"], cost["fields"]) > 0
        assert cost["peak_mib"] >= cost["idle_mib"] > 0
    (loop,) = report["loop"]
    assert (loop["pages"], 0 < loop["model_core_seconds"] < loop["core_seconds"]) == (128, True)
    assert list(tmp_path.iterdir()) == [], "pages and answers are deleted"


def test_generated_pages_are_documents_of_one_page(tmp_path: Path) -> None:
    write_pages(str(tmp_path), 100, 3)
    pages = [*DataSet(str(tmp_path)).read_pages()]
    assert len({page.doc_id for page in pages}) == len({page.source for page in pages}) == 100
    assert {len(page.words) for page in pages} == {3}


def test_a_few_words_of_the_generated_model_are_fields(tmp_path: Path) -> None:
    pages = [*codec.pages_of(random_pages(32, 50))]
    save_model(tmp_path, pages, "tiny")
    words = sum(len(entity.words) for found in Extractor.load(tmp_path, CPU).extract(pages) for entity in found)
    assert 0 < words < 0.2 * 32 * 50


@pytest.mark.parametrize(("option", "least"), [("pages", 128), ("words", 1), ("rounds", 1)])
def test_sizes_that_are_too_small_are_refused(option: str, least: int) -> None:
    with pytest.raises(InputError, match=f"--{option} is 0; it must be at least {least}"):
        main([f"--{option}", "0"])
