"""How well a checkpoint writes about whole documents, by ROUGE."""

from collections.abc import Sequence

import pyarrow.compute as pc

from layoutray.checkpoint import Checkpoint
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
    inside = [sources.join(folder, "pages") for folder in folders]
    ids = [document.doc_id for document in documents_of(inside, rows) if summaries_of(document)]
    generator = TextGenerator(loaded, world.alone().device, beams)
    scores = [
        rouge(text.text, summaries_of(document))
        for documents in documents_together(inside, ids)
        for (document, _), text in zip(documents, generator.write([pages for _, pages in documents]), strict=True)
    ]
    means = mean_f1(scores)
    bounds = {f"{kind}_{side}": getattr(interval, side) for kind, interval in means.items() for side in ("low", "high")}
    return {kind: interval.mean for kind, interval in means.items()} | bounds
