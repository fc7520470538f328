from pathlib import Path

import pytest

from benchmarks.measure import stand_in
from benchmarks.measure.environment import environment
from benchmarks.measure.ingest_cost import IngestTiming, step_seconds
from layoutray.prepare.output import Output
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import sources


def test_seconds_per_page_are_worker_seconds() -> None:
    run = IngestTiming(pages=104, workers=4, first=10, seconds=60, again=1, ocr=1.5)
    assert run.seconds_per_page == pytest.approx(240 / 104)
    assert run.steady_seconds_per_page == pytest.approx(2)
    assert run.overhead == pytest.approx(0.5)


def test_every_step_handles_all_pages(tmp_path: Path) -> None:
    source, out, program = str(tmp_path / "in"), str(tmp_path / "out"), tmp_path / "program"
    program.mkdir()
    stand_in.write_pictures(source, 5)
    with environment(stand_in.install(program, 0, words=3)):
        taken = step_seconds(
            source, out, IngestRecipe(reader="folder", dev_share=0, pages_per_shard=2, recognition=stand_in.READS)
        )
    assert min(taken.values()) > 0
    assert {
        "documents opened",
        "pages committed",
        "dead letters committed",
        "ledger read (what is done)",
    } <= taken.keys()
    read, failed = (Output(sources.join(out, name)).done() for name in ("read", "failed"))
    assert (len(read.pages), len(failed.dead)) == (5, 5)
    assert set(read.pages) == set(failed.dead)
