"""The three stages of bulk extraction: pages to windows, windows to label probabilities, probabilities to a shard.

Without GPUs, one process does all stages of a unit: moving data between processes would only cost time, because all
compete for the same cores. With GPUs, the first and the last stage have their own processes on CPUs, so that a GPU does
not wait for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray.data
from numpy.typing import NDArray
from ray.data import ActorPoolStrategy
from torch import Tensor

from layoutray.batching.examples import Example
from layoutray.cluster import gpus
from layoutray.cluster.answer_fields import count_answers
from layoutray.cluster.answer_job import Answerer
from layoutray.cluster.connect import num_workers
from layoutray.cluster.placement import Replicas
from layoutray.document import Page
from layoutray.document.answers import Answer, Problem
from layoutray.inference.extractor import Extractor, Tagging, page_answers
from layoutray.prepare.answer_plan import Unit, failures, page_units
from layoutray.store import codec, shards
from layoutray.store.dead_letter import DeadLetter

_CPUS = 0.25
"""CPUs of a process of the first or the last stage. Both and a replica fit on one CPU."""

_Batch = dict[str, NDArray[Any]]
"""Columns of one row, because Ray Data requires a batch size for workers with GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswerer(Answerer):
    """A job with a model that finds entities."""

    tagging: Tagging

    def units(self) -> Iterator[Unit]:
        return page_units(self.data_set)

    def failures(self) -> Iterator[tuple[str, Sequence[DeadLetter]]]:
        return failures(self.data_set, of_documents=False)

    def answer(self, units: ray.data.Dataset, replicas: Replicas) -> ray.data.Dataset:
        on_cpus: dict[str, Any] = {
            "num_cpus": _CPUS,
            "compute": ActorPoolStrategy(min_size=1, max_size=max(1, num_workers() // 2)),
        }
        model = replicas.placement()
        beside_gpus = ((_ReadPages, on_cpus), (_RunModel, model), (_WriteAnswers, on_cpus))
        for stage, placement in beside_gpus if model["num_gpus"] else ((_AllStages, model),):
            units = units.map_batches(
                stage, fn_constructor_args=(self,), batch_size=1, batch_format="numpy", **placement
            )
        return units

    def answer_failures(self, letters: Sequence[DeadLetter], name: str) -> None:
        self.write([self._failure(letter) for letter in letters], name)

    def write(self, answers: Sequence[Answer], name: str) -> None:
        self.answers.write(codec.answers_table(answers), [answer.to_json() for answer in answers], name)

    def count(self) -> Mapping[str, int]:
        return count_answers(self.answers, self.tagging.fields, self.identity)

    def _failure(self, letter: DeadLetter) -> Answer:
        problem = Problem(
            code=letter.reason,
            stage=letter.stage,
            message=letter.message,
            retryable=letter.retryable,
            page_number=letter.page,
        )
        return Answer(
            doc_id=letter.doc_id,
            source=letter.source,
            model_id=self.identity.model_id,
            model_version=self.identity.model_version,
            status="failure",
            entities=(),
            pages=(),
            errors=(problem,),
        )


@dataclass(frozen=True, slots=True)
class _Work:
    """A unit between two stages.

    Attributes:
        name: name of the shard of answers.
        windows: of each page.
        probabilities: label probabilities (length, labels) of all windows in one sequence; empty before the model.
    """

    name: str
    pages: Sequence[Page]
    windows: Sequence[Sequence[Example]]
    probabilities: Sequence[Tensor] = ()


class _ReadPages:
    def __init__(self, answerer: PageAnswerer) -> None:
        self._tagging = answerer.tagging

    def __call__(self, batch: _Batch) -> _Batch:
        shard, start, rows, name = (batch[column][0] for column in ("shard", "start", "rows", "name"))
        pages = list(codec.pages_of(shards.read_rows(str(shard), int(start), int(rows))))
        return _row(_Work(str(name), pages, self._tagging.windows(pages)))


class _RunModel:
    def __init__(self, answerer: PageAnswerer) -> None:
        self._extractor = Extractor.load(answerer.fetch(answerer.checkpoint), gpus.assigned_device())

    def __call__(self, batch: _Batch) -> _Batch:
        work: _Work = batch["work"][0]
        probabilities = self._extractor.probabilities(work.windows)
        return _row(_Work(work.name, work.pages, work.windows, probabilities))


class _WriteAnswers:
    def __init__(self, answerer: PageAnswerer) -> None:
        self._answerer = answerer

    def __call__(self, batch: _Batch) -> _Batch:
        work: _Work = batch["work"][0]
        tagging, identity = self._answerer.tagging, self._answerer.identity
        found = tagging.found(work.pages, work.windows, work.probabilities)
        answers = page_answers(
            work.pages, found, (identity.model_id, identity.model_version), tagging.records, tagging.learnt
        )
        self._answerer.write(answers, work.name)
        return {"rows": np.array([len(answers)])}


class _AllStages:
    def __init__(self, answerer: PageAnswerer) -> None:
        self._stages = [stage(answerer) for stage in (_ReadPages, _RunModel, _WriteAnswers)]

    def __call__(self, batch: _Batch) -> _Batch:
        for stage in self._stages:
            batch = stage(batch)
        return batch


def _row(work: _Work) -> _Batch:
    column = np.empty(1, object)
    column[0] = work
    return {"work": column}
