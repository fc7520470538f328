"""Entity precision, recall and F1 by seqeval, per type and micro-averaged, from one tag per word.

seqeval's default mode, which the LayoutLM papers use: an entity may start with I-, and is correct when its type, first
word and last word are correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """Shares 0..1; `support` is the number of true entities."""

    precision: float
    recall: float
    f1: float
    support: int


def entity_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, Score]:
    """Scores per entity type, and under `micro` the score of all entities together.

    Args:
        gold, predicted: IOB2 tags, a sequence per page; both have the same lengths.
    """
    if not any(tag != "O" for tags in (*gold, *predicted) for tag in tags):
        return {"micro": Score(0.0, 0.0, 0.0, 0)}
    from seqeval.metrics import classification_report  # takes two seconds, and a process that answers needs no score

    report = classification_report(
        [list(tags) for tags in gold],
        [list(tags) for tags in predicted],
        output_dict=True,
        zero_division=0,  # pyright: ignore[reportArgumentType]  # annotated as str, accepts 0 and 1
    )
    assert isinstance(report, dict)
    rows = {name: row for name, row in report.items() if name not in ("macro avg", "weighted avg")}
    return {
        name.removesuffix(" avg"): Score(
            float(row["precision"]), float(row["recall"]), float(row["f1-score"]), int(row["support"])
        )
        for name, row in rows.items()
    }


def with_missed(score: Score, missed: int) -> Score:
    """`score` with `missed` additional true entities that were not found."""
    support = score.support + missed
    recall = score.recall * score.support / support if support else 0.0
    total = score.precision + recall
    return Score(score.precision, recall, 2 * score.precision * recall / total if total else 0.0, support)
