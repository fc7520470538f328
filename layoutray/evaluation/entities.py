"""Entities that text recognition has lost, counted as misses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection, page_tables
from layoutray.metrics.entity_f1 import Score, with_missed
from layoutray.prepare.align import transfer_tags
from layoutray.store import codec


@dataclass(frozen=True, slots=True)
class ScoreWithLost:
    """The score of all entities, in which `lost` entities that no recognised word stands for count as missed."""

    lost: int
    score: Score

    def metrics(self) -> dict[str, float]:
        """By the names of reports."""
        return {
            "lost_entities": float(self.lost),
            "recall_with_lost": self.score.recall,
            "f1_with_lost": self.score.f1,
        }


def score_with_lost(metrics: Mapping[str, float], selection: PageSelection, truth: Sequence[str]) -> ScoreWithLost:
    """The score of `metrics`, with the entities of `truth` that the selected pages have lost.

    Args:
        metrics: of the selected pages.
        truth: folders of the same documents, ingested with `words=annotation`.

    Raises:
        InputError: when `metrics` has no entity score, or a selected page is not in `truth`.
    """
    if "support" not in metrics:
        raise InputError(
            "--truth counts lost entities, but the task of this checkpoint scores no entities; omit --truth"
        )
    recognised, annotated = (
        {
            (page.doc_id, page.number): page.words
            for table in page_tables(folders, selection.rows)
            for page in codec.pages_of(table)
        }
        for folders in (selection.folders, truth)
    )
    if unknown := recognised.keys() - annotated.keys():
        raise InputError(
            f"{len(unknown)} pages of {', '.join(selection.folders)} are not in --truth {', '.join(truth)}; "
            "ingest the same documents with --set words=annotation and the same splits"
        )
    # All entities of a page that is missing from the selected pages are lost.
    lost = sum(transfer_tags(recognised.get(key, ()), words).lost_entities for key, words in annotated.items())
    score = Score(metrics["precision"], metrics["recall"], metrics["f1"], int(metrics["support"]))
    return ScoreWithLost(lost, with_missed(score, lost))
