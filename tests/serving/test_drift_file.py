"""The evidence that documents have changed goes on after an endpoint was killed."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.document.signals import Observed, Reference
from layoutray.metrics.drift import FALSE_ALARM_EVERY
from layoutray.review.drift import FIRST
from layoutray.serving.drift_file import DriftFile
from layoutray.serving.model import ModelDescription
from tests import fork_server
from tests.review.test_drift import OTHER, stream
from tests.serving.in_process import PLAIN

_CHANGED = FIRST + 60


def documents(start: int, end: int) -> list[Observed]:
    every = stream(dict.fromkeys(range(_CHANGED, end, 2), OTHER), end)[start:]
    return [Observed.of(one.pages, [("total", one.said[0].confidence)]) for one in every]


def answer(file: str, start: int, end: int, model: ModelDescription) -> None:
    """Answer documents, then wait to be killed."""
    monitors = DriftFile(file)
    for one in documents(start, end):
        monitors.add(one, model)
    Path(f"{file}.{end}").touch()
    time.sleep(600)


@pytest.mark.parametrize("own_reference", [True, False])
def test_a_stream_with_kills_has_the_same_evidence_as_without(tmp_path: Path, own_reference: bool) -> None:
    end, file = _CHANGED + 40, str(tmp_path / "drift.db")
    model = PLAIN if own_reference else replace(PLAIN, reference=Reference.of(documents(0, FIRST)).to_json())
    unbroken, other = DriftFile(), replace(model, model_version="other")
    *before, last = documents(0, end)
    for one in before:
        unbroken.add(one, model)
    for start, until in ((0, FIRST - 30), (FIRST - 30, _CHANGED + 5)):
        process = fork_server.start(answer, file, start, until, model)
        while process.is_alive() and not Path(f"{file}.{until}").exists():
            time.sleep(0.02)
        process.kill()
        process.join()
    broken = DriftFile(file)
    assert broken.add(documents(0, 1)[0], other).evidence <= 1, "another version begins anew"
    for one in before[_CHANGED + 5 :]:
        broken.add(one, model)
    broken.forget((model.model_id, model.model_version))
    found = broken.add(last, model)
    assert found.evidence > FALSE_ALARM_EVERY
    assert found.to_json() == unbroken.add(last, model).to_json()


def test_a_test_of_other_signals_begins_anew(tmp_path: Path) -> None:
    file = str(tmp_path / "drift.db")
    before = documents(0, 30)
    model = replace(PLAIN, reference=Reference.of(before).to_json())
    DriftFile(file).add(before[0], model)
    without = [replace(one, numbers={"words": one.numbers["words"]}) for one in before]
    fresh = replace(PLAIN, reference=Reference.of(without).to_json())
    assert DriftFile(file).add(without[0], fresh).documents == 1
