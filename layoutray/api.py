"""The Python API for notebooks and scripts. `import layoutray` offers these functions and imports them on first use."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from layoutray.cli.shared import options
from layoutray.cli.verbs import needs_extra
from layoutray.document import Page
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES
from layoutray.tracking import registered, stores

if TYPE_CHECKING:
    from layoutray.inference.extractor import Extractor


def read_pages(file: str | Path, recognition: Recognition | None = None) -> list[Page]:
    """The pages of a picture or PDF file, with their words.

    Words come from the text layer of a PDF page if it is usable, else from OCR in a child process.

    Args:
        file: local path or `s3://` address.
        recognition: settings; None: the defaults.

    Raises:
        DocumentError: when the file or one of its pages cannot be read, with the reason.
        MissingDependencyError: when the OCR engine is not installed.
    """
    uri = sources.absolute(str(file))
    data = sources.read_bytes(uri)
    doc_id = sources.content_id(data)
    with IsolatedRecogniser(recognition or Recognition()) as recogniser:
        numbers = range(1, recogniser.count_pages(data) + 1)
        return [recogniser.recognise(data, number).of_document(doc_id, uri, uri) for number in numbers]


def load_extractor(checkpoint: str | Path, tracking_uri: str = "") -> "Extractor":
    """The trained extractor of a checkpoint, on the first GPU if there is one.

    Args:
        checkpoint: folder, `s3://` address, `models:/NAME@ALIAS` or `models:/NAME/VERSION`.
        tracking_uri: MLflow server or store for `models:/`; empty: MLFLOW_TRACKING_URI, else ./mlflow.db.

    Raises:
        InputError: when the registry does not have the model.
        CheckpointError: when the checkpoint is incomplete, or its model finds no entities.
    """
    with needs_extra("predict"):
        from layoutray.inference.extractor import Extractor
    folder, version = registered.checkpoint_folder(str(checkpoint), tracking_uri or stores.default_uri())
    return Extractor.load(folder, version=version)


def open_pages(folder: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The PAGES of a data set as an Arrow table, one row per page.

    Args:
        folder: data set that `ingest` or `mix` has written; local path or `s3://` address.
        columns: names of the columns to read; None: all.

    Raises:
        SchemaError: when the folder is not a data set.
    """
    data_set = DataSet(sources.absolute(str(folder)))
    data_set.check()
    return shards.read(data_set.pages, PAGES, columns)


@contextmanager
def serve(checkpoint: str | Path, **given: Any) -> Generator[str]:
    """Serve a model over HTTP during the `with` block, which gets the URL; then answer what is in flight and stop.

    Starts Ray, or joins the cluster at RAY_ADDRESS.

    Args:
        checkpoint: folder, s3:// address, or `models:/NAME@ALIAS`, whose new versions are served without a restart.
        given: other options of the verb, such as `host`, `port`, `beams` and `keys`.

    Raises:
        InputError: if there is no such option, the port is taken, or the registry does not have the model.
        CheckpointError: if the checkpoint is incomplete.
        MissingDependencyError: if the OCR engine is not installed.
    """
    with needs_extra("serve"):
        from layoutray.cli import serve as verb
        from layoutray.cli.shared import deployment
        from layoutray.cluster.connect import connect
        from layoutray.cluster.endpoint.application import running
    chosen = vars(verb.parser().parse_args(["--", str(checkpoint)]))
    settings, registry = verb.parts(chosen | options.replacing(chosen, given))
    deployment.path_of(settings, registry)
    deployment.check(settings, registry)
    with connect(), running(settings, registry=registry) as url:
        yield url
