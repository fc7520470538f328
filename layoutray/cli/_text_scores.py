"""How well a checkpoint writes about whole documents, by ROUGE."""

from collections.abc import Callable, Sequence

import pyarrow.compute as pc

from layoutray.checkpoint import Checkpoint
from layoutray.document import Page
from layoutray.generation import TextGenerator
from layoutray.metrics.rouge import mean_f1, rouge
from layoutray.prepare.whole_documents import documents_of, documents_together
from layoutray.store import sources
from layoutray.tasks.summary import summaries_of
from layoutray.training import world


def text_scores(loaded: Checkpoint, folders: Sequence[str], rows: pc.Expression, beams: int) -> dict[str, float]:
    """Scores of the documents with summaries among the `rows` that `ingest` has written to `folders`.

    Returns:
        The mean F1 of each kind of ROUGE, such as `rouge1`, and the bounds of its 95 % interval, `rouge1_low` and `rouge1_high`.

    Raises:
        InputError: when there is no such document.
    """
    generator = TextGenerator(loaded, world.single_process().device, beams)
    return _scores(folders, rows, lambda documents: [text.text for text in generator.write(documents)])


def first_sentence_scores(folders: Sequence[str], rows: pc.Expression) -> dict[str, float]:
    """What `text_scores` gives to whoever takes a document's first sentence for its summary. Raises InputError as it does."""
    return _scores(folders, rows, lambda documents: [_first_sentence(pages) for pages in documents])


def _scores(
    folders: Sequence[str], rows: pc.Expression, write: Callable[[list[list[Page]]], Sequence[str]]
) -> dict[str, float]:
    inside = [sources.join(folder, "pages") for folder in folders]
    ids = [document.doc_id for document in documents_of(inside, rows) if summaries_of(document)]
    scores = [
        rouge(text, summaries_of(document))
        for documents in documents_together(inside, ids)
        for (document, _), text in zip(documents, write([pages for _, pages in documents]), strict=True)
    ]
    means = mean_f1(scores)
    bounds = {f"{kind}_{side}": getattr(interval, side) for kind, interval in means.items() for side in ("low", "high")}
    return {kind: interval.mean for kind, interval in means.items()} | bounds


def _first_sentence(pages: Sequence[Page]) -> str:
    """All words up to the first that ends in a full stop, or the like."""
    words = [word.text for page in pages for word in page.words]
    end = next((number for number, word in enumerate(words, start=1) if word.endswith((".", "!", "?"))), len(words))
    return " ".join(words[:end])
