"""Fields that are written, over real HTTP: real Ray Serve, and a model that has learned eight documents by heart."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from layoutray.document import Page
from layoutray.inference.generation import TextGenerator
from layoutray.ocr.settings import Recognition
from layoutray.serving.settings import ServeSettings
from layoutray.tasks.generate_fields import written_fields
from tests.cluster.running_endpoint import gathered, refused, serving
from tests.cluster.test_serve_summaries import as_request
from tests.documents import pages, values

pytestmark = [pytest.mark.ray, pytest.mark.slow]

Trained = tuple[Path, list[list[Page]]]


@pytest.fixture(scope="module")
def client(trained_on_fields: Trained, cluster: None, serve_port: int) -> Iterator[httpx.Client]:
    fast = Recognition(profile="fast")
    settings = ServeSettings(str(trained_on_fields[0]), recognition=fast, cpus_per_replica=0.2, port=serve_port)
    with serving(settings) as client:
        yield client


def test_fields_are_answered_as_those_of_tagging_models_without_places(
    client: httpx.Client, trained_on_fields: Trained
) -> None:
    checkpoint, wholes = trained_on_fields
    generator = TextGenerator.load(checkpoint)
    requests = [{"url": "/v1/extract", "json": as_request(whole)} for whole in wholes]
    answers = [response.json() for response in asyncio.run(gathered(client.base_url, requests))]
    for answer, whole, text in zip(answers, wholes, generator.write(wholes), strict=True):
        assert (answer["status"], answer["errors"], answer["document"]["entities"]) == ("success", [], [])
        assert answer["document"]["cut"] is False
        assert [page["page_number"] for page in answer["pages"]] == [1, 2]
        fields = answer["document"]["fields"]
        assert {(field["name"], field["content"]) for field in fields} == {
            (field.name, field.value) for field in values(whole)
        }
        for field, expected in zip(fields, written_fields(text.lines, whole, generator.fields), strict=True):
            assert (field["name"], field["value"], field["bounding_regions"]) == (expected.name, expected.value, [])
            assert (field["confidence"], field["score"]) == pytest.approx(
                (expected.confidence, expected.score), rel=1e-3
            )


def test_a_document_longer_than_the_model_takes_is_said_to_be_cut(client: httpx.Client) -> None:
    (page, _) = pages(0)
    long = replace(page, words=page.words * 20)
    answer = client.post("/v1/extract", json=as_request([long]), params={"words": "true"}).json()
    assert answer["document"]["cut"] is True
    assert len(answer["pages"][0]["words"]) == len(long.words)


def test_a_page_without_words_has_no_fields(client: httpx.Client) -> None:
    blank = {"pages": [{"width": 9, "height": 9, "words": []}]}
    document = client.post("/v1/extract", json=blank).json()["document"]
    assert document == {"entities": [], "fields": [], "records": [], "sums": [], "cut": False}


def test_a_model_of_fields_writes_no_summaries(client: httpx.Client, trained_on_fields: Trained) -> None:
    message = refused(client.post("/v1/summarize", json=as_request(trained_on_fields[1][0])), 404, "not_offered")
    assert message == "model small-generate_fields is served at /v1/extract"
    (model,) = client.get("/v1/models").json()["models"]
    assert (model["path"], model["entity_types"]) == ("/v1/extract", [])
