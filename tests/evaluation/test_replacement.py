"""When a version of a model may replace another."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.page_selection import PageSelection
from layoutray.evaluation.replacement import ComparedF1, Replacement, compare
from layoutray.metrics.bootstrap import Interval
from layoutray.recipe import recipes
from tests.evaluation.test_predictions import write_receipts
from tests.jobs import NO_DROPOUT, job, pages, recipe
from tests.training.runs import alone

SAME = ComparedF1(0.8, 0.8, Interval(0.0, -0.005, 0.005), 0.5)
WORSE = ComparedF1(0.9, 0.6, Interval(-0.3, -0.4, -0.2), 0.0)


def objections(overall: ComparedF1, **by_name: ComparedF1) -> list[str]:
    return Replacement(40, overall, by_name).objections(margin=0.01)


def test_a_candidate_that_is_shown_to_be_as_good_may_replace_the_champion() -> None:
    assert objections(SAME, date=SAME, total=SAME) == []


def test_too_few_documents_show_nothing() -> None:
    (reason,) = objections(replace(SAME, difference=Interval(0.02, -0.03, 0.07)), date=SAME)
    assert "40 documents do not show that F1 of all items falls by less than 0.01" in reason
    assert "difference +0.020 (95 % interval -0.030 to +0.070)" in reason


def test_few_documents_and_models_that_find_nothing_are_equal_by_chance() -> None:
    equal = ComparedF1(0.0, 0.0, Interval(0.0, 0.0, 0.0), 1.0)
    assert Replacement(3, equal, {"date": equal}).objections(0.01) == [
        "3 labelled documents show nothing; give at least 5"
    ]
    assert Replacement(4, SAME, {}).objections(0.01)
    (reason,) = Replacement(40, equal, {"date": equal}).objections(0.01)
    assert reason == "the candidate finds no value in 40 documents: its F1 is 0; train it longer"


def test_a_field_that_is_worse_is_named_though_the_others_make_up_for_it() -> None:
    (reason,) = objections(SAME, date=SAME, total=WORSE)
    assert reason.startswith("total is worse: F1 0.600 after 0.900, difference -0.300")


def test_the_more_fields_the_clearer_one_must_be_worse() -> None:
    unlucky = replace(WORSE, chance_not_worse=0.02)
    assert len(objections(SAME, total=unlucky)) == 1
    assert objections(SAME, total=unlucky, **{f"field {number}": SAME for number in range(4)}) == []


@pytest.fixture(scope="module")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> PageSelection:
    return write_receipts(tmp_path_factory.mktemp("receipts"), pages(6))


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A model that has learned the receipts."""
    folder = tmp_path_factory.mktemp("learned")
    one = job(folder, recipe("entities", model=NO_DROPOUT, steps=150, learning_rate=5e-3), pages(6))
    alone(one)
    return checkpoint.load(one.out)


def fresh(learned: Checkpoint) -> Checkpoint:
    """A model of the same kind that has learned nothing."""
    return replace(learned, model=checkpoint.build_model(learned.recipe, learned.tokenizer, learned.labels).eval())


def test_entities_of_two_versions_are_compared_on_the_same_documents(
    learned: Checkpoint, receipts: PageSelection
) -> None:
    better = compare(fresh(learned), learned, receipts)
    assert (better.documents, set(better.by_name)) == (6, {"date", "total"})
    assert better.overall.candidate == pytest.approx(evaluate(learned, receipts).metrics["f1"])
    assert better.overall.champion == pytest.approx(evaluate(fresh(learned), receipts).metrics["f1"])
    assert better.overall.difference.low > 0.5
    assert better.objections(0.01) == []
    worse = compare(learned, fresh(learned), receipts).objections(0.01)
    assert [reason.partition(" is worse")[0] for reason in worse[1:]] == ["date", "total"]
    assert compare(learned, learned, receipts).overall.difference == Interval(0.0, 0.0, 0.0)


def with_fields(loaded: Checkpoint, *names: str) -> Checkpoint:
    values = loaded.recipe.to_dict()
    values["task"]["fields"] = {name: {"type": "text", "many": True} for name in names}
    return replace(loaded, recipe=recipes.from_stored(values))


def test_fields_are_those_of_the_champion(learned: Checkpoint, receipts: PageSelection) -> None:
    both, totals = with_fields(learned, "date", "total"), with_fields(learned, "total")
    compared = compare(both, with_fields(fresh(learned), "date", "total"), receipts)
    assert compared.overall.champion == pytest.approx(evaluate(both, receipts).metrics["field_f1"])
    lost = compare(both, totals, receipts)
    assert (lost.by_name["date"].candidate, lost.by_name["total"].difference) == (0.0, Interval(0.0, 0.0, 0.0))
    assert "date is worse" in lost.objections(1.0)[0]
    assert set(compare(totals, both, receipts).by_name) == {"total"}
    with pytest.raises(InputError, match="the champion answers fields, unlike the candidate"):
        compare(both, learned, receipts)


def test_pages_without_labels_are_refused(learned: Checkpoint, tmp_path: Path) -> None:
    bare = [replace(page, words=tuple(replace(word, tag=None) for word in page.words)) for page in pages(2)]
    selection = write_receipts(tmp_path / "bare", bare)
    with pytest.raises(InputError, match="has a tagged entity"):
        compare(learned, learned, selection)
