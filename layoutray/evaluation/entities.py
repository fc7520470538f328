"""Entities that text recognition has lost, counted as misses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from layoutray.errors import InputError
from layoutray.evaluation.page_selection import PageSelection
from layoutray.prepare.align import transfer_tags


def score_with_lost(metrics: Mapping[str, float], selection: PageSelection, truth: Sequence[str]) -> dict[str, float]:
    """Recall and F1 of `metrics` if the entities of `truth` that no recognised word stands for count as missed.

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
    recognised = {(page.doc_id, page.number): page.words for page in selection.pages()}
    annotated = {(page.doc_id, page.number): page.words for page in replace(selection, folders=tuple(truth)).pages()}
    if unknown := recognised.keys() - annotated.keys():
        raise InputError(
            f"{len(unknown)} pages of {', '.join(selection.folders)} are not in --truth {', '.join(truth)}; "
            "ingest the same documents with --set words=annotation and the same splits"
        )
    # All entities of a page that is missing from the selected pages are lost.
    lost = sum(transfer_tags(recognised.get(key, ()), words).lost_entities for key, words in annotated.items())
    expected = metrics["support"] + lost
    if not expected:
        return {"lost_entities": 0.0}
    recall = metrics.get("recall", 0.0) * metrics["support"] / expected
    f1 = 2 / (1 / metrics["precision"] + 1 / recall) if recall else 0.0
    return {"lost_entities": float(lost), "recall_with_lost": recall, "f1_with_lost": f1}
