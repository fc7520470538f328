"""Bulk jobs of all models on the cluster: PAGES to shards of answers, JSON lines, and FIELDS of whole documents."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from layoutray import checkpoint as checkpoints
from layoutray.cluster import answer_job
from layoutray.cluster.answer_job import JobIdentity
from layoutray.cluster.answer_stages import PageAnswerer
from layoutray.cluster.placement import ONE_REPLICA, Replicas
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.cluster.write import TextAnswerer, WrittenTexts
from layoutray.devices import CPU
from layoutray.inference.extractor import Tagging
from layoutray.inference.generation import TextGenerator
from layoutray.store import sources
from layoutray.store.data_set import DataSet
from layoutray.tasks import WritesTexts


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
) -> Prediction | WrittenTexts:
    """Answer every page or document of the data set `ingested` that no earlier run of the same job has answered.

    The answers are shards in `out/parquet` and `out/jsonl`: one row per page of a model that finds entities, one per
    document of a model that generates texts. Dead letters, and documents without words, have a row with status
    `failure`. The fields of documents, one row per value, are in `out/fields`. `out/answers.json` has the counts, and
    is written last.

    Args:
        identity: of the job, if it includes the ingest or states a beam width; None is that of a job with this data
            set and width 1.

    Raises:
        InputError: if another job owns `out`: another model, source, or other options.
        SchemaError: if `ingested` is not a data set, or has no documents for a model that reads these.
        CheckpointError: if `checkpoint` is not a checkpoint of a model that finds entities or generates texts.
    """
    loaded = checkpoints.load(replicas.fetch(str(checkpoint)))  # errors occur before workers start
    identity, data_set = identity or JobIdentity.of(loaded, ingested), DataSet(ingested)
    if isinstance(loaded.recipe.task, WritesTexts):
        has_fields = bool(TextGenerator(loaded, CPU, identity.beams).fields)
        make, counts, stage = partial(TextAnswerer, has_fields=has_fields), WrittenTexts, "write"
    else:
        make, counts, stage = partial(PageAnswerer, tagging=Tagging.of(loaded)), Prediction, "answer"
    data_set.check()
    answerer = make(
        checkpoint=sources.absolute(str(checkpoint)),
        fetch=replicas.fetch,
        data_set=data_set,
        answers=identity.claim(out),
        identity=identity,
    )
    return counts(**answer_job.run(answerer, replicas, stage, progress))
