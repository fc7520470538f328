"""The test of changed documents: false alarms are as rare as stated, and changes are noticed, dated and named."""

import numpy as np
import pytest

from layoutray.metrics.drift import FALSE_ALARM_EVERY, Bets, DriftTest


@pytest.mark.parametrize("upward", [False, True])
def test_bets_gain_from_few_references_only(upward: bool) -> None:
    rng, grid = np.random.default_rng(1), (np.arange(400) + 0.5) / 400
    gains = []
    for _ in range(60):
        bets = Bets([*rng.uniform(size=40)], upward)
        gains.append(np.mean([bets.factors(bets.p_value(float(value))) for value in grid], 0))
    assert ((np.array(gains) > 1).mean(0) <= 0.15).all()  # 0.05 is expected


def test_false_alarms_are_rare_however_few_documents_the_reference_has() -> None:
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(40):
        test = DriftTest({"a": [*rng.normal(size=5)], "b": [*rng.integers(0, 2, 5).astype(float)]}, ["b"])
        for a, b in zip(rng.normal(size=500), rng.integers(0, 2, 500), strict=True):
            test.add({"a": float(a), "b": float(b)})
            if test.evidence >= FALSE_ALARM_EVERY:
                alarms += 1
                break
    assert alarms <= 4  # of 20,000 documents; 2 are the most on average


def test_a_change_of_few_documents_is_noticed_dated_and_named() -> None:
    rng = np.random.default_rng(2)
    test = DriftTest({"a": [*rng.normal(size=250)], "b": [*rng.normal(size=250)], "none": []})
    for number in range(200):
        test.add({"a": float(rng.normal()), "b": float(rng.normal() + 8 * (number >= 50 and number % 10 == 0))})
        assert number >= 50 or test.evidence < FALSE_ALARM_EVERY
    of_signal = test.evidence_of()
    assert of_signal.keys() == {"a", "b"}
    assert test.evidence >= FALSE_ALARM_EVERY > of_signal["a"]
    assert test.evidence == pytest.approx(sum(of_signal.values()) / 2)
    assert 40 <= test.begun <= 60


def test_a_signal_that_a_document_does_not_have_says_nothing() -> None:
    test = DriftTest({"a": [1.0, 2.0, 3.0]})
    assert test.add({"b": 1.0}) == {}
    assert (test.documents, test.evidence) == (1, 1.0)


def test_only_high_values_of_upward_signals_count_and_ties_do_not() -> None:
    values = [0.0] * 99
    upward, both = Bets(values, upward=True), Bets(values, upward=False)
    assert [upward.p_value(one) for one in (-1.0, 0.0, 1.0)] == [1, 1, 0.01]
    assert [both.p_value(one) for one in (-1.0, 0.0, 1.0)] == [0.02, 1, 0.02]
    assert both.factors(0.02)[0] > 2
    assert both.factors(0.03)[0] < 1
