"""Measures a checkpoint: perplexity, ROUGE of summaries, or precision, recall and F1 of entities and of fields."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutray.checkpoint import Checkpoint
from layoutray.document import Field
from layoutray.evaluation.acceptance import Acceptance, measure_acceptance
from layoutray.evaluation.calibration import FieldCalibration, WordCalibration, calibrate_fields, calibrate_words
from layoutray.evaluation.capabilities import generates_texts, tags_words, word_tagger
from layoutray.evaluation.entities import score_with_lost
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
from layoutray.evaluation.texts import score_summaries
from layoutray.inference.generation import TextGenerator
from layoutray.tasks import document_fields_of
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
