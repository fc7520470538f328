"""A registered model loaded by MLflow's own loader."""

import json
from pathlib import Path
from random import Random
from typing import Any

import mlflow
import mlflow.pyfunc
import pandas as pd
import pytest
from mlflow.pyfunc import PyFuncModel
from mlflow.tracking import MlflowClient

from layoutray import checkpoint
from layoutray.inference.extractor import Extractor
from layoutray.recipe.ingest import load_ingest
from layoutray.serving.limits import Limits
from layoutray.serving.submission import word_pages
from layoutray.synthetic.render import render_page
from layoutray.tracking import registered, runs
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import as_request
from tests.mlflow_store import new_store
from tests.ocr.files import encoded
from tests.tracking.test_tracking import CARD, examples

IMAGE, ANNOTATION = render_page(Random("pyfunc"))
BODY = as_request(IMAGE, ANNOTATION["words"])
PAGES = word_pages(json.dumps(BODY).encode(), Limits()).pages


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint that is registered; `mlflow.db` beside it."""
    folder = tmp_path_factory.mktemp("pyfunc") / "checkpoint"
    save_untrained(folder, metrics={"step": 7.0, "dev.f1": 0.5}, fields={"total": {}})
    (folder / checkpoint.EXAMPLE).write_text(json.dumps(BODY))
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> PyFuncModel:
    uri = new_store(folder.parent)
    run = runs.create_run(uri, "tests", "run", {}, {})
    run.log_data(examples(folder.parent))
    run.log_metrics(7, {"dev/f1": 0.5})
    run.log_checkpoint(folder)
    run.log_checkpoint(folder)  # a training that was closed twice
    assert run.register("forms") == "1"
    mlflow.set_tracking_uri(uri)
    return mlflow.pyfunc.load_model("models:/forms@champion")


def test_it_is_the_logged_model_of_its_run_with_metrics_data_and_ocr_lane(model: PyFuncModel, folder: Path) -> None:
    client = MlflowClient(tracking_uri=f"sqlite:///{folder.parent / 'mlflow.db'}")
    version = client.get_model_version("forms", "1")
    (output,) = client.get_run(version.run_id).outputs.model_outputs
    logged = client.get_logged_model(output.model_id)
    assert (logged.status, logged.artifact_location) == ("READY", version.source)
    linked = [(one.key, one.value, one.step, one.dataset_name, one.dataset_digest) for one in logged.metrics]
    assert linked == [("dev best/f1", 0.5, 7, "forms", CARD.digest)]
    assert (logged.name, logged.source_run_id) == ("run", version.run_id)
    assert json.loads(logged.tags["mlflow.modelVersions"]) == [{"name": "forms", "version": 1}]
    assert client.get_run(version.run_id).data.metrics == {"dev/f1": 0.5, "dev best/f1": 0.5}
    assert logged.params["ocr_engine"] == load_ingest("ingest-folder").recognition.engine
    assert model.metadata.metadata["recognition"] == "ingest-folder"


def found(answer: dict[str, Any]) -> list[tuple[str, str, float]]:
    return [(one["type"], one["content"], one["confidence"]) for one in answer["document"]["entities"]]


def test_pages_of_words_are_answered_as_by_the_extractor(model: PyFuncModel, folder: Path) -> None:
    (answer,) = model.predict(pd.DataFrame({"pages": [BODY["pages"]]}))
    (expected,) = Extractor.load(folder).extract(PAGES)
    assert expected
    assert found(answer) == [(one.type, one.content, pytest.approx(one.confidence, abs=1e-6)) for one in expected]
    assert (answer["model_id"], answer["model_version"], answer["status"]) == ("untrained", "1", "success")
    assert [field["name"] for field in answer["document"]["fields"]] == ["total"]


@pytest.mark.parametrize("box", [[1, 1, 20, 9], [1.5, 1.0, 20.0, 9.5], [1, 1, 20.5, 9]])
def test_boxes_are_whole_numbers_or_not(model: PyFuncModel, box: list[float]) -> None:
    page = {"width": 100, "height": 50, "words": [{"text": "TOTAL", "box": box}]}
    (answer,) = model.predict(pd.DataFrame({"pages": [[page]]}))
    assert answer["status"] == "success"


def test_a_box_that_is_none_is_refused(model: PyFuncModel) -> None:
    page = {"width": 100, "height": 50, "words": [{"text": "TOTAL", "box": [1, 1, "a", 9]}]}
    (answer,) = model.predict(pd.DataFrame({"pages": [[page]]}))
    assert answer["error"]["code"] == "invalid_request"


def test_it_states_what_it_takes_and_gives_an_example(model: PyFuncModel) -> None:
    info = mlflow.models.get_model_info("models:/forms/1")
    assert info.signature is not None
    assert [(column.name, column.required) for column in info.signature.inputs] == [("file", False), ("pages", False)]
    (answer,) = model.predict(model.input_example)
    assert answer["pages"][0]["num_words"] == len(PAGES[0].words)


def test_no_file_of_it_is_a_pickle_or_code(model: PyFuncModel, folder: Path) -> None:
    local, _ = registered.checkpoint_folder("models:/forms/1", f"sqlite:///{folder.parent / 'mlflow.db'}")
    kinds = {file.suffix for file in Path(local).rglob("*") if file.is_file()}
    assert kinds <= {".json", ".safetensors", ".txt", ".yaml", ""}
    assert checkpoint.load(local).version == checkpoint.load(folder).version


@pytest.mark.ocr
def test_a_file_is_read_and_what_is_none_is_refused_alone(model: PyFuncModel) -> None:
    files = [encoded(IMAGE, "PNG"), b"", b"GIF89a"]
    read, empty, other = model.predict(pd.DataFrame({"file": files}))
    assert read["status"] == "success"
    assert read["pages"][0]["num_words"] > 20
    assert [one["error"]["code"] for one in (empty, other)] == ["empty_file", "unsupported_type"]


def test_a_document_is_given_once(model: PyFuncModel) -> None:
    (neither,) = model.predict(pd.DataFrame({"file": [None]}))
    assert "either as file (bytes) or as pages" in neither["error"]["message"]
