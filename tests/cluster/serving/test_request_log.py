"""A line of the log for each request."""

import logging

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx import Client

from layoutray.cluster.serving.request_log import RequestLog
from tests.cluster.endpoint import as_request, refused, rendered

pytestmark = pytest.mark.ocr

BODY = as_request(*rendered())


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    caplog.set_level(logging.INFO, "layoutray")
    return caplog.records


def test_a_line_says_what_was_asked_by_whom_and_what_became_of_it(
    admin: Client, lines: list[logging.LogRecord]
) -> None:
    admin.post("/v1/extract?words=true", json=BODY)
    admin.post("/v1/extract", json={"pages": []})
    admin.get("/v1/jobs/Flibbertigibbet")
    admin.get("/Flibbertigibbet")
    said = [(line.method, line.path, line.status, line.key, line.error) for line in lines]
    assert said == [
        ("POST", "/v1/extract", 200, "the-admin", ""),
        ("POST", "/v1/extract", 422, "the-admin", "invalid_request"),
        ("GET", "/v1/jobs/{job}", 404, "the-admin", "not_found"),
        ("GET", "", 404, "", "not_found"),
    ]
    assert all(line.milliseconds > 0 for line in lines)
    assert "Flibbertigibbet" not in str([vars(line) for line in lines])


def test_an_unexpected_error_is_answered_and_its_message_stays_out_of_the_log(lines: list[logging.LogRecord]) -> None:
    def fail() -> None:
        raise ValueError("Flibbertigibbet")

    api = FastAPI()
    api.add_middleware(RequestLog)
    api.add_api_route("/", fail)
    message = refused(TestClient(api).get("/"), 500, "internal")
    assert message == "internal error; see the log of the endpoint"
    assert [line.levelname for line in lines] == ["ERROR", "INFO"]
    assert "ValueError" in lines[0].getMessage()
    assert "Flibbertigibbet" not in str([line.getMessage() for line in lines])


def test_metrics_tell_models_versions_and_fields_apart(admin: httpx.Client) -> None:
    answer = admin.post("/v1/extract", json=BODY).json()
    text = admin.get("/metrics").text
    labels = f'model="untrained",version="{answer["model_version"]}"'
    assert f"layoutray_documents_total{{{labels}}}" in text
    assert answer["document"]["fields"]
    for field in answer["document"]["fields"]:
        accepted = str(field["accepted"]).lower()
        found = f'layoutray_field_confidence_count{{accepted="{accepted}",field="{field["name"]}",{labels}}}'
        assert found in text
    for entity in answer["document"]["entities"]:
        assert f"layoutray_entity_confidence_sum{{{labels.replace('version', 'type')}" or entity["type"] in text
