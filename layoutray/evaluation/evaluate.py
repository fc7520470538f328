"""Measures a checkpoint: perplexity, ROUGE of summaries, or precision, recall and F1 of entities and of fields."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutray.checkpoint import Checkpoint
from layoutray.document import Field, Page
from layoutray.errors import InputError
from layoutray.evaluation.acceptance import Acceptance, measure_acceptance
from layoutray.evaluation.calibration import FieldCalibration, WordCalibration, calibrate_fields, calibrate_words
from layoutray.evaluation.capabilities import generates_texts, tags_words, word_tagger
from layoutray.evaluation.examples import EncodedPages, encode_pages
from layoutray.evaluation.fields import (
    AnsweredDocument,
    FieldScores,
    JudgedAnswer,
    Schema,
    answer_from_entities,
    generate_answers,
    judge,
    labelled_documents,
    score_fields,
)
from layoutray.evaluation.page_selection import PageSelection
from layoutray.evaluation.pictures import PageOverlay, overlays, pages_to_draw
from layoutray.evaluation.predictions import Predictions, predict
from layoutray.evaluation.records import RecordTruth
from layoutray.inference.generation import TextGenerator
from layoutray.metrics.rouge import mean_f1, rouge
from layoutray.prepare.align import transfer_tags
from layoutray.prepare.whole_documents import document_groups
from layoutray.tasks import document_fields_of
from layoutray.tasks.summary import summaries_of
from layoutray.training import world


@dataclass(frozen=True)
class WordEvaluation:
    """Word labels of a checkpoint.

    Attributes:
        confusion: words by (true type, predicted type).
        overlays: the first few pages with an image, ready to be drawn.
    """

    confusion: Counter[tuple[str, str]]
    calibration: WordCalibration
    overlays: tuple[PageOverlay, ...]


@dataclass(frozen=True, kw_only=True)
class FieldEvaluation:
    """Answered fields of a checkpoint.

    Attributes:
        judged: the answers of `documents`.
        acceptance: what the checkpoint's thresholds accept; None if it has none.
    """

    schema: Schema
    documents: Sequence[AnsweredDocument]
    judged: Sequence[JudgedAnswer]
    scores: FieldScores
    calibration: FieldCalibration
    acceptance: Acceptance | None

    def metrics(self) -> dict[str, float]:
        """Those of the scores, of the calibration and of the thresholds."""
        accepted = self.acceptance.metrics() if self.acceptance else {}
        return self.scores.metrics() | self.calibration.metrics() | accepted


@dataclass(frozen=True)
class Evaluation:
    """What was measured. A part is None when the checkpoint has no such answers.

    Attributes:
        encoded: the examples that the model has read.
        metrics: all of them, by the names of reports and MLflow.
    """

    encoded: EncodedPages
    metrics: dict[str, float]
    words: WordEvaluation | None = None
    fields: FieldEvaluation | None = None


def evaluate(loaded: Checkpoint, selection: PageSelection, *, beams: int = 1, truth: Sequence[str] = ()) -> Evaluation:
    """Measure `loaded` on the selected pages, with one pass of the model over their windows or documents.

    A model that generates texts additionally generates a text for each document.

    Args:
        beams: width of beam search of a model that generates texts; 1 is greedy.
        truth: folders of the same documents, ingested with `words=annotation`, whose lost entities count as missed.

    Raises:
        InputError: when the selection has no page that can be measured, no document has an expected value of the
            checkpoint's fields, or `truth` does not fit the checkpoint or the selection.
    """
    encoded = encode_pages(loaded, selection)
    schema = document_fields_of(loaded.recipe.task)
    expected = labelled_documents(selection, schema) if schema else {}
    drawn = pages_to_draw(selection) if tags_words(loaded) else []
    records = RecordTruth.of(loaded.recipe.task, selection)
    documents = {*expected, *records.documents} if tags_words(loaded) else set[str]()
    pages = {(page.doc_id, page.number) for page in (*drawn, *records.pages)}
    predictions = predict(loaded, encoded.examples, lambda key: key[0] in documents or key in pages)
    summary = loaded.recipe.task.summarise(predictions.observations, loaded.labels)
    words = None
    if tags_words(loaded):
        confusion = word_tagger(loaded).confusion(predictions.observations, loaded.labels)
        words = WordEvaluation(confusion, calibrate_words(predictions), tuple(overlays(predictions, drawn)))
    fields = _evaluate_fields(predictions, selection, expected, beams) if schema else None
    rouge = {}
    if generates_texts(loaded) and not schema:
        generator = TextGenerator(loaded, world.single_process().device, beams)
        rouge = score_summaries(selection, lambda texts: [written.text for written in generator.write(texts)])
    metrics = {
        **summary,
        **(words.calibration.metrics() if words else {}),
        **(fields.metrics() if fields else {}),
        **rouge,
        **(score_with_lost(summary, selection, truth) if truth else {}),
        **records.score(predictions, selection),
    }
    return Evaluation(encoded, metrics, words, fields)


def _evaluate_fields(
    predictions: Predictions, selection: PageSelection, expected: Mapping[str, Sequence[Field]], beams: int
) -> FieldEvaluation:
    loaded = predictions.loaded
    schema = document_fields_of(loaded.recipe.task)
    if generates_texts(loaded):
        generator = TextGenerator(loaded, world.single_process().device, beams)
        documents = generate_answers(selection, expected, schema, generator.write)
    else:
        documents = answer_from_entities(selection, expected, schema, predictions.entities)
    return evaluation_of_fields(schema, documents)


def evaluation_of_fields(schema: Schema, documents: Sequence[AnsweredDocument]) -> FieldEvaluation:
    """Scores and calibration of answered documents."""
    judged = judge(documents, schema)
    has_thresholds = any(field.accept_from is not None for field in schema.values())
    return FieldEvaluation(
        schema=schema,
        documents=documents,
        judged=judged,
        scores=score_fields(documents, judged, schema),
        calibration=calibrate_fields(judged, schema),
        acceptance=measure_acceptance(judged, schema) if has_thresholds else None,
    )


def score_summaries(
    selection: PageSelection, summarise: Callable[[list[list[Page]]], Sequence[str]]
) -> dict[str, float]:
    """ROUGE of what `summarise` gives for the selected documents that have a summary, each as its pages in order.

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
    lost = sum(transfer_tags(recognised.get(key, ()), words)[1] for key, words in annotated.items())
    expected = metrics["support"] + lost
    if not expected:
        return {"lost_entities": 0.0}
    recall = metrics.get("recall", 0.0) * metrics["support"] / expected
    f1 = 2 / (1 / metrics["precision"] + 1 / recall) if recall else 0.0
    return {"lost_entities": float(lost), "recall_with_lost": recall, "f1_with_lost": f1}
