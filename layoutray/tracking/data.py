"""Data sets of a run in MLflow, linked to the metrics that were measured on them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlflow.entities import Dataset, DatasetInput, InputTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT


@dataclass(frozen=True)
class DataUsed:
    """A data set that a run has read.

    Attributes:
        title: its name in MLflow.
        digest: identity of its content.
        folder: path or address.
        context: what it was used for: `training`, or the measured split.
        counts: what there is how often, by split or in all.
    """

    title: str
    digest: str
    folder: str
    context: str
    counts: Mapping[str, int | Mapping[str, int]]


def titled(documents: str, words: str) -> str:
    """The name of a data set, of which these are the documents and the word sources, if they are known."""
    return f"{documents}, {words}" if words else documents


def log(client: MlflowClient, run_id: str, data: DataUsed) -> Dataset:
    """Make `data` an input of the run."""
    source = data.folder if "://" in data.folder else str(Path(data.folder).absolute())
    kind = source.partition("://")[0] if "://" in source else "local"
    place, profile = json.dumps({"uri": source}), json.dumps(data.counts)
    dataset = Dataset(data.title, data.digest, kind, place, profile=profile)
    inputs = [DatasetInput(dataset, [InputTag(MLFLOW_DATASET_CONTEXT, data.context)])]
    try:
        client.log_inputs(run_id, inputs)
    except MlflowException:
        # Of runs that log the same new data set at once, the first creates it; the others fail once, then find it.
        client.log_inputs(run_id, inputs)
    return dataset
