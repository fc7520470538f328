"""A registered model as an MLflow pyfunc: documents in, the endpoint's answers out, without Ray and HTTP.

MLflow imports this module to load the model. The model's folder holds the checkpoint and no code.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from layoutray import devices
from layoutray.errors import ApiError
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.recipe.ingest import load_ingest
from layoutray.serving import failures, submission
from layoutray.serving.in_process import InProcess
from layoutray.serving.limits import Limits
from layoutray.serving.model import LoadedVersion, Loader, Version
from layoutray.serving.submission import UploadedFile, WordPages

_REGISTERED = "registered_model_meta"
"""File that MLflow writes into the folder of a registered model: its name and version."""


class DocumentModel:
    """Answers documents as the endpoint does, one after the other. `recognition`: how files are read."""

    def __init__(self, version: LoadedVersion, recognition: Recognition) -> None:
        self._version = version
        self._recognition = recognition

    def predict(self, documents: pd.DataFrame, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """The answer to each document: the body of the endpoint's response, also for a document that it refuses.

        Args:
            documents: a row for each, with `file` (bytes of a picture or PDF) or `pages` (see `ExtractRequest`).
            params: MLflow passes this; there are none.
        """
        answers = self._answers(documents.to_dict("records"))
        with ThreadPoolExecutor(1) as thread:  # the event loop of a notebook runs in this one
            return thread.submit(asyncio.run, answers).result()

    async def _answers(self, rows: Sequence[Mapping[Any, Any]]) -> list[dict[str, Any]]:
        with IsolatedRecogniser(self._recognition) as recogniser:  # one process, which the first file starts
            answerer = InProcess(self._version, recogniser)
            return [await _answer(answerer, row) for row in rows]


async def _answer(answerer: InProcess, row: Mapping[Any, Any]) -> dict[str, Any]:
    try:
        answered = await answerer.answer(_document(row), (await answerer.model()).asking(""))
        return answered.response.model_dump(mode="json", exclude_none=True)
    except ApiError as error:
        return error.body()


def _document(row: Mapping[Any, Any]) -> UploadedFile | WordPages:
    file, pages = row.get("file"), row.get("pages")
    if isinstance(file, bytes) == isinstance(pages, Sequence | np.ndarray):
        raise failures.invalid("give each document either as file (bytes) or as pages")
    if isinstance(file, bytes):
        return submission.uploaded_file(file, "", Limits())
    # MLflow has converted lists and numbers to those of NumPy.
    body = json.dumps({"pages": pages}, default=lambda converted: converted.tolist())
    return submission.word_pages(body.encode(), Limits())


def _load_pyfunc(folder: str, model_config: Mapping[str, str]) -> DocumentModel:  # pyright: ignore[reportUnusedFunction]
    """The model in `folder`; MLflow calls this.

    Args:
        model_config: `recipe`: the ingest recipe whose section `recognition` says how files are read.
    """
    registered = Path(folder, _REGISTERED)
    label = str(yaml.safe_load(registered.read_text())["model_version"]) if registered.is_file() else ""
    version = Loader(devices.first_visible()).load(Version(folder, label))
    return DocumentModel(version, load_ingest(model_config["recipe"]).recognition)
