"""A comparison names the best recipe, or says that the data cannot tell."""

import pytest

from layoutray.compare.compared_model import NOISE, ComparedModel
from layoutray.compare.comparison import Comparison, DocumentDifference
from layoutray.errors import InputError
from layoutray.evaluation.measurement import Measurement

DOCUMENTS = [f"document-{number:02}" for number in range(40)]


def model(found: list[int], *, expected: int = 4, coverage: float | None = None, metric: str = "f1") -> ComparedModel:
    """A model that finds so many of the values of each document, and as many of noisy ones less one."""

    def measured(less: int) -> Measurement:
        counts = {
            doc_id: (max(count - less, 0), expected, expected) for doc_id, count in zip(DOCUMENTS, found, strict=True)
        }
        value = sum(correct for correct, _, _ in counts.values()) / (expected * len(found))
        return Measurement(metric, "max", value, counts)

    return ComparedModel(
        clean=measured(0),
        noisy={rate: measured(1) for rate in NOISE},
        calibration_error=0.1,
        coverage=coverage,
        milliseconds=20.0,
        parameters=1000,
    )


GOOD, POOR = model([4, 3, 4, 4] * 10, coverage=0.5), model([2, 1, 4, 2] * 10, coverage=0.25)
AS_GOOD = model([3, 4, 4, 4] * 10)


def test_a_recipe_that_is_better_beyond_chance_is_the_best() -> None:
    found = Comparison({"poor": [POOR, POOR], "good": [GOOD, GOOD]})
    assert (found.best, found.undecided) == ("good", [])
    assert found.verdict == "good is the best: its f1 is higher than that of each other recipe beyond chance."
    good, poor = found.recipes()
    assert (good.name, good.f1.value, good.difference, good.coverage) == ("good", pytest.approx(15 / 16), None, 0.5)
    assert poor.difference is not None
    assert poor.difference.low > 0.2
    assert poor.difference.value == pytest.approx(15 / 16 - 9 / 16)
    assert good.noisy[0.05].value == pytest.approx(11 / 16)


def test_recipes_whose_difference_can_be_chance_are_undecided() -> None:
    found = Comparison({"good": [GOOD], "other": [AS_GOOD], "poor": [POOR]})
    assert found.undecided == ["other"]
    assert found.verdict.startswith("The data cannot tell which is the best: good has the highest f1")
    assert "difference to other can be chance" in found.verdict


def test_unseen_templates_have_an_f1_of_their_own() -> None:
    models = {"good": [GOOD, GOOD], "poor": [POOR]}
    found = Comparison(models, known=frozenset(DOCUMENTS[4:]))
    assert found.unseen == (*DOCUMENTS[:4],)
    good, _ = found.recipes()
    assert good.unseen is not None
    assert good.unseen.value == pytest.approx(15 / 16)
    assert [one.unseen for one in Comparison(models, known=frozenset(DOCUMENTS)).recipes()] == [None, None]


def test_the_documents_that_differ_most_are_listed_first() -> None:
    best, other = model([4] * 39 + [0]), model([0, 3] + [4] * 37 + [2])
    found = Comparison({"best": [best, best], "other": [other, best]})
    assert found.differing("other", 1) == [
        DocumentDifference(DOCUMENTS[0], 4, 4.0, 2.0),
        DocumentDifference(DOCUMENTS[1], 4, 4.0, 3.5),
    ]
    assert found.differing("other", -1) == [DocumentDifference(DOCUMENTS[39], 4, 0.0, 1.0)]


@pytest.mark.parametrize("other", [model([4] * 40, expected=5), model([4] * 40, metric="field_f1")])
def test_recipes_that_are_measured_by_other_values_are_refused(other: ComparedModel) -> None:
    with pytest.raises(InputError, match=r"good and other are not measured by the same values"):
        Comparison({"good": [GOOD], "other": [other]})
