"""Counts of each document, whose F1 is that of an evaluation."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutray import checkpoint
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.evaluation.capabilities import counted_metric
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.measurement import count_by_document, kept_measurement, measure
from layoutray.evaluation.page_selection import PageSelection
from layoutray.metrics.bootstrap import f1
from layoutray.recipe import recipes
from tests.evaluation.test_predictions import FIELDS, write_receipts
from tests.jobs import NO_DROPOUT, job, pages, recipe, write_pages
from tests.training.runs import alone


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> PageSelection:
    """Twelve receipts, of which the models know six."""
    return write_receipts(tmp_path_factory.mktemp("receipts"), pages(12))


def trained(folder: Path, selection: PageSelection, task: dict[str, object]) -> Path:
    settings = recipe("entities", model=NO_DROPOUT, steps=80, learning_rate=5e-3, max_length=24).to_dict()
    (folder / "ingested").mkdir()
    (folder / "ingested" / "documents").symlink_to(Path(selection.folders[0]) / "documents")
    one = job(folder, recipes.from_dict(settings | {"task": task}), pages(6))
    alone(one)
    return Path(one.out)


@pytest.fixture(scope="module")
def of_entities(selection: PageSelection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("entities"), selection, {"name": "entities_bioes"})


@pytest.fixture(scope="module")
def of_fields(selection: PageSelection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("fields"), selection, {"name": "entities", "fields": FIELDS})


@pytest.mark.parametrize(("model", "metric"), [("of_entities", "f1"), ("of_fields", "field_f1")])
def test_the_f1_of_the_counts_is_that_of_the_evaluation(
    model: str, metric: str, selection: PageSelection, request: pytest.FixtureRequest
) -> None:
    loaded = checkpoint.load(request.getfixturevalue(model))
    assert counted_metric(loaded.recipe.task) == metric
    counts = count_by_document(loaded, selection)
    assert counts.keys() == {one.doc_id for one in pages(12)}
    expected = evaluate(loaded, selection).metrics[metric]
    assert 0 < expected < 1
    assert f1(np.array([[*counts.values()]])).value == pytest.approx(expected)


def test_generated_fields_are_counted(trained_on_fields: tuple[Path, list[list[Page]]]) -> None:
    folder, wholes = trained_on_fields
    loaded = checkpoint.load(folder)
    selection = PageSelection((str(folder.parent / "ingested"),), "train")
    counts = count_by_document(loaded, selection)
    assert len(counts) == len(wholes)
    assert all(correct == expected == answered > 0 for correct, expected, answered in counts.values())
    disturbed = np.array([*count_by_document(loaded, selection, noise=0.3).values()])
    assert disturbed[:, 0].sum() < disturbed[:, 1].sum()


def test_character_errors_disturb_what_is_found(of_entities: Path, selection: PageSelection) -> None:
    loaded = checkpoint.load(of_entities)
    values = [
        f1(np.array([[*count_by_document(loaded, selection, noise).values()]])).value for noise in (0.0, 0.1, 0.9)
    ]
    assert values[0] > values[2]
    assert values[0] != values[1]


def test_pages_without_tags_are_no_truth(of_entities: Path, selection: PageSelection, tmp_path: Path) -> None:
    loaded = checkpoint.load(of_entities)
    tagged, *others = pages(3)
    bare = [replace(one, words=tuple(replace(word, tag=None) for word in one.words)) for one in others]
    mixed = PageSelection((write_pages(tmp_path / "mixed", [tagged, *bare]),), "train")
    assert count_by_document(loaded, mixed).keys() == {tagged.doc_id}
    with pytest.raises(InputError, match="has a tagged entity; choose a labelled data set"):
        count_by_document(loaded, PageSelection((write_pages(tmp_path / "bare", bare),), "train"))


def test_a_measurement_is_kept_until_the_pages_change(of_entities: Path, tmp_path: Path) -> None:
    selection = PageSelection((write_pages(tmp_path / "some", pages(4)),), "train")
    made = kept_measurement(str(of_entities), selection)
    kept = of_entities / "measured-train.json"
    before = kept.stat().st_mtime_ns
    again = kept_measurement(str(of_entities), selection)
    assert (again.value, again.metric, kept.stat().st_mtime_ns) == (made.value, "f1", before)
    assert [*again.counts] == [*made.counts]
    by_another = json.loads(kept.read_text())
    by_another["made_from"]["layoutray"] = "0.0.1"
    by_another["result"]["value"] = 2.0
    kept.write_text(json.dumps(by_another))
    assert kept_measurement(str(of_entities), selection) == again, "what another version has measured is not mixed in"
    del by_another["made_from"]["layoutray"]
    kept.write_text(json.dumps(by_another))
    assert kept_measurement(str(of_entities), selection) == again, "nor that of one that did not state itself"
    others = PageSelection((write_pages(tmp_path / "others", pages(8)),), "train")
    assert len(kept_measurement(str(of_entities), others).counts) == 8


def test_another_task_is_measured_by_its_objective(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=2))
    alone(one)
    loaded, selection = checkpoint.load(one.out), PageSelection((str(tmp_path / "ingested"),), "dev")
    found = measure(loaded, selection)
    assert (found.metric, found.best, found.counts) == ("perplexity", "min", {})
    assert found.value == pytest.approx(evaluate(loaded, selection).metrics["perplexity"])
