"""Scores generated summaries of whole documents by ROUGE."""

from collections.abc import Callable, Sequence

from layoutray.document import Page
from layoutray.evaluation.page_selection import PageSelection
from layoutray.metrics.rouge import mean_f1, rouge
from layoutray.prepare.whole_documents import document_groups
from layoutray.tasks.summary import summaries_of

Summarise = Callable[[list[list[Page]]], Sequence[str]]
"""Gives a summary of each document, which is given as its pages in order."""


def score_summaries(selection: PageSelection, summarise: Summarise) -> dict[str, float]:
    """ROUGE of what `summarise` gives for the selected documents that have a summary.

    By the names of reports: `rouge1` is the mean F1 over documents, `rouge1_low` and `rouge1_high` are the bounds of
    its 95 % interval.

    Raises:
        InputError: when no selected document has a summary.
    """
    ids = [document.doc_id for document in selection.documents() if summaries_of(document)]
    scores = [
        rouge(text, summaries_of(document))
        for documents in document_groups(selection.data_sets, ids)
        for (document, _), text in zip(documents, summarise([pages for _, pages in documents]), strict=True)
    ]
    return {
        f"{kind}{suffix}": value
        for kind, one in mean_f1(scores).items()
        for suffix, value in (("", one.value), ("_low", one.low), ("_high", one.high))
    }
