"""Experiments in a real store of MLflow, with the tags that its UI reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient

from layoutray.tracking import views
from tests.mlflow_store import new_store


@pytest.fixture
def client(tmp_path: Path) -> MlflowClient:
    return MlflowClient(tracking_uri=new_store(tmp_path))


def view(client: MlflowClient, found: str, key: str) -> dict[str, Any]:
    """The state of a saved view, as the UI reads it."""
    kept = json.loads(client.get_experiment(found).tags[f"mlflow.sharedViewState.{key}"])
    assert kept["name"].startswith("Results")
    return json.loads(kept["state"])


def test_a_new_experiment_opens_in_the_view_of_trainings_and_says_where_its_results_are(client: MlflowClient) -> None:
    made = views.find_or_create(client, "forms", None)
    tags = client.get_experiment(made).tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    for key in ("results", "results-by-words"):
        address = f"(#/experiments/{made}/runs?workflowType=machine_learning&viewStateShareKey={key})"
        assert address in tags["mlflow.note.content"]
    assert views.find_or_create(client, "forms", None) == made


def test_what_people_have_set_on_an_experiment_stays(client: MlflowClient) -> None:
    made = client.create_experiment("forms")
    client.set_experiment_tag(made, "mlflow.experimentKind", "genai_development")
    client.set_experiment_tag(made, "mlflow.note.content", "our forms")
    assert views.find_or_create(client, "forms", None) == made
    tags = client.get_experiment(made).tags
    assert (tags["mlflow.experimentKind"], tags["mlflow.note.content"]) == ("genai_development", "our forms")


def test_the_saved_views_collect_the_columns_that_matter(client: MlflowClient) -> None:
    made = views.find_or_create(client, "forms", None)
    views.show_columns(client, made, ["train/loss", "dev best/f1", "speed/minutes"])
    views.show_columns(client, made, ["test tesserocr/f1", "dev by name/f1.total"])
    state, grouped = view(client, made, "results"), view(client, made, "results-by-words")
    assert [key["groupByData"] for key in grouped.pop("groupBy")["groupByKeys"]] == ["data", "words"]
    assert grouped == state
    assert state["columnWidths"]["metrics.`test tesserocr/f1`"] > 130, "its name has 17 characters"
    assert state["columnOrder"] == ["attributes.`Run Name`", "runDateAndNestInfo", *state["selectedColumns"]]
    assert state["selectedColumns"] == [
        "attributes.`Dataset`",
        "tags.`arch`",
        "metrics.`test tesserocr/f1`",
        "metrics.`dev best/f1`",
        "metrics.`speed/minutes`",
    ]


def test_the_page_of_a_run_opens_in_the_view_of_trainings() -> None:
    page = "http://host:5000/#/experiments/1/runs/ab12?workflowType=machine_learning"
    assert views.address("http://host:5000/", "1", "ab12") == page
