"""Scores generated summaries of whole documents by ROUGE."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.evaluation.page_selection import PageSelection
from layoutray.inference.generation import TextGenerator
from layoutray.metrics.bootstrap import Interval
from layoutray.metrics.rouge import mean_f1, rouge
from layoutray.prepare.whole_documents import document_groups
from layoutray.tasks.summary import summaries_of
from layoutray.training import world

Summarise = Callable[[list[list[Page]]], Sequence[str]]
"""Gives a summary of each document, which is given as its pages in order."""


@dataclass(frozen=True, slots=True)
class TextScores:
    """The mean F1 over documents of each kind of ROUGE, with its 95 % interval."""

    intervals: Mapping[str, Interval]

    def metrics(self) -> dict[str, float]:
        """By the names of reports: `rouge1` is a mean, `rouge1_low` and `rouge1_high` are its bounds."""
        means = {kind: interval.value for kind, interval in self.intervals.items()}
        bounds = {
            f"{kind}_{side}": bound
            for kind, interval in self.intervals.items()
            for side, bound in (("low", interval.low), ("high", interval.high))
        }
        return means | bounds


def score_generated_summaries(loaded: Checkpoint, selection: PageSelection, beams: int) -> TextScores:
    """ROUGE of the summaries that the model of `loaded` generates.

    Args:
        beams: width of beam search; 1 is greedy.

    Raises:
        InputError: when no selected document has a summary.
    """
    generator = TextGenerator(loaded, world.single_process().device, beams)
    return score_summaries(selection, lambda documents: [text.text for text in generator.write(documents)])


def score_summaries(selection: PageSelection, summarise: Summarise) -> TextScores:
    """ROUGE of what `summarise` gives for the selected documents that have a summary.

    Raises:
        InputError: when no selected document has a summary.
    """
    ids = [document.doc_id for document in selection.documents() if summaries_of(document)]
    scores = [
        rouge(text, summaries_of(document))
        for documents in document_groups(selection.data_sets, ids)
        for (document, _), text in zip(documents, summarise([pages for _, pages in documents]), strict=True)
    ]
    return TextScores(mean_f1(scores))
