"""Bulk extraction on the cluster: PAGES shards to ANSWERS shards, JSON lines, and FIELDS of whole documents."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from layoutray import checkpoint as checkpoints
from layoutray.cluster import answer_job
from layoutray.cluster.answer_job import JobIdentity
from layoutray.cluster.answer_stages import PageAnswerer
from layoutray.cluster.placement import ONE_REPLICA, Replicas
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.inference.extractor import Tagging
from layoutray.store import sources
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Counts of the output: every page of the data set is answered or failed, once.

    Attributes:
        failed: dead letters. A document that cannot be opened counts as one page.
        fields: values of fields, of all documents; 0 for a model without fields.
        without_fields: readable documents for which no value was found; 0 for a model without fields.
        new: pages that this run has answered. Earlier runs have answered the others.
    """

    answered: int
    failed: int
    entities: int
    fields: int
    without_fields: int
    new: int


def predict(
    checkpoint: str | Path,
    ingested: str,
    out: str,
    *,
    identity: JobIdentity | None = None,
    replicas: Replicas = ONE_REPLICA,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Prediction:
    """Answer every page of the data set `ingested` that no earlier run of the same job has answered.

    The answers are shards in `out/parquet` and `out/jsonl` (one line of JSON per page). Dead letters are answered with
    status `failure` and the error. If the model finds fields of documents, the answers of all pages of a document are
    combined in `out/fields`. `out/answers.json` has the counts, and is written last.

    Args:
        identity: of the job, if it includes the ingest; None is that of a job with this data set.

    Raises:
        InputError: if another job owns `out`: another model, source, or other options.
        SchemaError: if `ingested` is not a data set.
        CheckpointError: if `checkpoint` is not a checkpoint of a model that finds entities.
    """
    loaded = checkpoints.load(replicas.fetch(str(checkpoint)))  # errors occur before workers start
    tagging = Tagging.of(loaded)
    data_set = DataSet(ingested)
    data_set.check()
    identity = identity or JobIdentity.of(loaded, ingested)
    answers = identity.claim(out)
    answerer = PageAnswerer(
        data_set=data_set,
        checkpoint=sources.absolute(str(checkpoint)),
        fetch=replicas.fetch,
        tagging=tagging,
        identity=identity,
        answers=answers,
    )
    return Prediction(**answer_job.run(identity, answerer, answers, replicas, "answer", progress))
