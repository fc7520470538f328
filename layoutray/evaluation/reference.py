"""What labelled documents are like, kept in a checkpoint: the reference of the alarm when documents change."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.document.signals import Observed, Reference
from layoutray.evaluation.fields import AnsweredDocument, JudgedAnswer, Schema
from layoutray.evaluation.page_selection import PageSelection


def with_reference(
    loaded: Checkpoint,
    selection: PageSelection,
    documents: Sequence[AnsweredDocument],
    judged: Sequence[JudgedAnswer],
    schema: Schema,
) -> Checkpoint:
    """The checkpoint with the signals of the labelled documents of `selection`, none of which it has learnt from.

    Args:
        documents: those that are labelled.
        judged: their answers, with the confidences that users see; those of each field in the order of `documents`.
        schema: as the checkpoint answers from now on.
    """
    following = {name: iter([one.answer for one in judged if one.answer.name == name]) for name in schema}
    pages: dict[str, list[Page]] = defaultdict(list)
    for page in selection.pages():
        pages[page.doc_id].append(page)
    observed: list[Observed] = []
    for document in documents:
        answers = [next(following[one.name]) for one in document.answers]
        values = [(one.name, one.confidence) for one in answers if one.score >= schema[one.name].min_score]
        if of_document := sorted(pages[document.doc_id], key=lambda page: page.number):
            observed.append(Observed.of(of_document, values))
    return replace(loaded, provenance=loaded.provenance | {"documents": Reference.of(observed).to_json()})
