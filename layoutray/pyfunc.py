"""A registered model as an MLflow pyfunc: documents in, the endpoint's answers out, without Ray and HTTP.

MLflow imports this module to load the model. The model's folder holds the checkpoint and no code.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from layoutray import devices
from layoutray.document import Page
from layoutray.document.answers import Problem
from layoutray.errors import DocumentError
from layoutray.inference.generation import TextGenerator
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.recipe.ingest import load_ingest
from layoutray.serving import answer, failures, submission
from layoutray.serving.failures import ApiError
from layoutray.serving.limits import Limits
from layoutray.serving.model import LoadedVersion, Version, load_version
from layoutray.serving.outcome import Outcome
from layoutray.serving.submission import UploadedFile, WordPages

_REGISTERED = "registered_model_meta"
"""File that MLflow writes into the folder of a registered model: its name and version."""


class DocumentModel:
    """Answers documents as the endpoint does, one after the other.

    Args:
        recognition: how files are read.
    """

    def __init__(self, version: LoadedVersion, recognition: Recognition) -> None:
        self._model, self._description = version.model, version.description
        self._recognition = recognition
        self._limits = Limits()

    def predict(self, documents: pd.DataFrame, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The answer to each document: the body of the endpoint's response, also for a document that it refuses.

        Args:
            documents: a row for each, with `file` (bytes of a picture or PDF) or `pages` (see `ExtractRequest`).
            params: MLflow passes this; there are none.
        """
        with IsolatedRecogniser(self._recognition) as recogniser:  # one process, which the first file starts
            return [self._answer(row, recogniser) for row in documents.to_dict("records")]

    def _answer(self, row: Mapping[Any, Any], recogniser: IsolatedRecogniser) -> dict[str, Any]:
        try:
            document = self._document(row)
            return self._respond(document, recogniser).model_dump(mode="json", exclude_none=True)
        except ApiError as error:
            return json.loads(bytes(error.response().body))

    def _document(self, row: Mapping[Any, Any]) -> UploadedFile | WordPages:
        file, pages = row.get("file"), row.get("pages")
        if isinstance(file, bytes) == isinstance(pages, Sequence | np.ndarray):
            raise failures.invalid("give each document either as file (bytes) or as pages")
        if isinstance(file, bytes):
            return submission.uploaded_file(file, "", self._limits)
        return submission.word_pages(json.dumps({"pages": pages}, default=_plain).encode(), self._limits)

    def _respond(self, document: UploadedFile | WordPages, recogniser: IsolatedRecogniser) -> Any:
        started = time.perf_counter()
        outcomes, text = _outcomes(document, recogniser), None
        answer.problems_of(outcomes)
        pages = answer.pages_of(outcomes)
        model_started = time.perf_counter()
        if isinstance(self._model, TextGenerator):
            (text,) = self._model.write([pages])
            outcomes = [*outcomes, Outcome(None, model=time.perf_counter() - model_started)]
        else:
            entities = iter(self._model.extract(pages))
            seconds = (time.perf_counter() - model_started) / max(len(pages), 1)
            outcomes = [
                Outcome(one.page, next(entities), ocr=one.ocr, model=seconds) if one.page else one for one in outcomes
            ]
        seconds = time.perf_counter() - started
        if text and self._description.path == "/v1/summarize":
            return answer.summarized(document.doc_id, self._description, outcomes, text, None, seconds)
        return answer.extracted(document.doc_id, self._description, outcomes, text, seconds)


def _load_pyfunc(folder: str, model_config: Mapping[str, str]) -> DocumentModel:  # pyright: ignore[reportUnusedFunction]
    """The model in `folder`; MLflow calls this.

    Args:
        model_config: `recipe`: the ingest recipe whose section `recognition` says how files are read.
    """
    registered = Path(folder, _REGISTERED)
    label = str(yaml.safe_load(registered.read_text())["model_version"]) if registered.is_file() else ""
    version = load_version(Version(folder, label), str, 1, devices.first_visible())
    return DocumentModel(version, load_ingest(model_config["recipe"]).recognition)


def _plain(value: np.ndarray | np.generic) -> Any:
    """What JSON can hold of a value that MLflow has converted."""
    return value.tolist()


def _outcomes(document: UploadedFile | WordPages, recogniser: IsolatedRecogniser) -> list[Outcome]:
    """Each page, read."""
    if isinstance(document, WordPages):
        return [Outcome(page) for page in document.pages]
    try:
        count = recogniser.count_pages(document.data)
    except DocumentError as error:
        raise failures.error_of_problem(failures.problem_of(error)) from error
    return [_read(recogniser, document, number) for number in range(1, count + 1)]


def _read(recogniser: IsolatedRecogniser, file: UploadedFile, number: int) -> Outcome:
    started = time.perf_counter()
    try:
        read = recogniser.recognise(file.data, number)
    except DocumentError as error:
        problem: Problem = failures.problem_of(error, number)
        return Outcome(None, problem=problem)
    page = Page(file.doc_id, number, read.width, read.height, read.words, file.source, "", "", read.provenance)
    return Outcome(page, ocr=time.perf_counter() - started)
