"""A full review of the documents that `select` chooses, and questions over all documents in a share of its time.

Both begin with the answers of a model to the other training documents: the start, or one that was trained from it on
the first documents. Both end with a training that goes on from this model, on the first documents and what people said,
and are scored on the test documents. Questions have rounds: after each, a model is trained in the same way, and answers
the documents again.
"""

import csv
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.measure.document_subset import write_data_set_of
from benchmarks.measure.review_round import LoopSettings, ReviewRound
from benchmarks.measure.reviewer import Questioner, Reviewer, ReviewTime
from benchmarks.training_runs import Runs, schedule
from layoutray.cli.select import REVIEW
from layoutray.readers.own.reviewed import REVIEW_FILE
from layoutray.store.data_set import DataSet

FULL, QUESTIONS = "full", "questions"


class QuestionRound(ReviewRound):
    """The round of one seed, which the trainings have.

    `LoopSettings.first` may be 0: then the start answers the fields. `more` is the number of documents to review in
    full.
    """

    share = 1 / 3
    """Of the time of the full review, for all rounds of questions."""

    def __init__(self, runs: Runs, settings: LoopSettings, seed: int, rounds: int) -> None:
        super().__init__(runs, settings, seed)
        self._rounds = rounds

    def run(self) -> dict[str, float]:
        """All steps. Returns the F1 of the fields on the test documents after each way."""
        self._folder.mkdir(exist_ok=True)
        settings = self._settings
        self._once("parts", self._part)
        if settings.first:
            self._train("first", ["labelled"])
        self._once("chosen", self._choose)
        for documents in ("unlabelled", "chosen"):
            words = [str(self._model), str(self._path(documents)), "--out", str(self._path(f"{documents}-answers"))]
            self._once(f"predict-{documents}", partial(self._verb, "predict", words))
        self._once(FULL, lambda: self._review("chosen-answers", Reviewer, "chosen"))
        scores = {FULL: self._learn(FULL, "chosen-answers")}
        left, answers = self.time(FULL).person * self.share, "unlabelled-answers"
        for number, way in enumerate(self.ways[1:], 1):
            seconds = left / (self._rounds - number + 1)
            self._once(way, partial(self._review, answers, partial(Questioner, seconds=seconds)))
            left -= self.time(way).person
            scores[way] = self._learn(way, answers)
            if number < self._rounds:
                self._once(f"predict-{way}", partial(self._answer_again, way, answers, f"{way}-answers"))
                answers = f"{way}-answers"
        return {way: of_way["field_f1"] for way, of_way in scores.items()}

    def _answer_again(self, way: str, before: str, answers: str) -> None:
        """Answer the unlabelled documents with the model of a way. Questions go on with the review of `before`."""
        words = [str(self._path(f"{way}-model")), str(self._path("unlabelled")), "--out", str(self._path(answers))]
        self._verb("predict", words)
        shutil.copy(self._path(before) / REVIEW_FILE, self._path(answers) / REVIEW_FILE)

    @property
    def ways(self) -> Sequence[str]:
        """The full review, and the rounds of questions."""
        return FULL, *(f"{QUESTIONS}-{number}" for number in range(1, self._rounds + 1))

    def time(self, way: str) -> ReviewTime:
        """The time of a way; of a round of questions, without the rounds before it."""
        return ReviewTime(**self._read(way))

    def report(self) -> dict[str, Any]:
        """Times of all ways."""
        return {"times": {way: asdict(self.time(way)) for way in self.ways}}

    @property
    def _model(self) -> Path:
        return self._path("first") if self._settings.first else self._settings.start

    def _part(self) -> list[str]:
        """Write the data sets `labelled`, of the first documents, and `unlabelled`, of the others with values."""
        pages, first = self._settings.pages, self._settings.first
        documents = DataSet(str(pages)).read_documents()
        known = sorted(one.doc_id for one in documents if one.split == "train" and one.fields)
        labelled = Random(self._seed).sample(known, first)
        if first:
            write_data_set_of(labelled, pages, self._path("labelled"))
        write_data_set_of({*known} - {*labelled}, pages, self._path("unlabelled"))
        return labelled

    def _choose(self) -> list[str]:
        """Write the data set `chosen`, of the documents that `select` chooses."""
        pages, count = self._settings.pages, self._settings.more
        out = self._path("select")
        shutil.rmtree(out, ignore_errors=True)
        words = [str(self._model), str(self._path("unlabelled")), "--count", str(count), "--out", str(out)]
        self._verb("select", words)
        with (out / REVIEW).open(encoding="utf-8", newline="") as file:
            chosen = [row["doc_id"] for row in csv.DictReader(file)]
        write_data_set_of(chosen, pages, self._path("chosen"))
        return chosen

    def _learn(self, way: str, answers: str) -> dict[str, float]:
        """Go on training the model on the first documents, and what a way has left in the folder of the answers.

        Returns the scores of the trained model on the test documents.
        """
        settings, recipe = self._settings, self._settings.recipe
        reviewed, windows, model = (self._path(f"{way}-{name}") for name in ("reviewed", "windows", "model"))
        words = ["ingest-reviewed", str(self._path(answers)), str(reviewed), "--set", "dev_share=0"]
        self._once(f"ingest-{way}", lambda: self._verb("ingest", words))
        keys = {**schedule(settings.steps), "train.evaluate_every": 0, "seed": self._seed}
        start = f"tokenizer.path={settings.start.absolute()}"
        assignments = [*(f"{key}={value}" for key, value in keys.items()), start, *settings.overrides]
        keywords = [argument for assignment in assignments for argument in ("--set", assignment)]
        first = [str(self._path("labelled"))] if settings.first else []
        encode = [recipe, *first, str(reviewed), "--out", str(windows), *keywords]
        self._once(f"encode-{way}", lambda: self._verb("encode", encode))
        finetune = [recipe, str(windows), "--out", str(model), "--init", str(self._model), *keywords]
        self._once(f"finetune-{way}", lambda: self._verb("finetune", finetune))
        return self._runs.evaluate(model, settings.pages)
