"""A line of the log for each request."""

import logging
import re
import sqlite3
import time
from contextlib import closing

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from layoutray.serving.request_log import RequestLog
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import as_request, refused, rendered

pytestmark = pytest.mark.ocr

BODY = as_request(*rendered())
WORD = "Flibbertigibbet"


def own(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [line for line in caplog.records if line.name.endswith("request_log")]


def test_a_line_says_what_was_asked_by_whom_and_what_became_of_it(
    admin: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "layoutray")
    admin.post("/v1/extract?words=true", json=BODY)
    admin.post("/v1/extract", json={"pages": []})
    admin.get(f"/v1/jobs/{WORD}")
    admin.get(f"/{WORD}")
    until = time.monotonic() + 10
    while len(own(caplog)) < 4 and time.monotonic() < until:  # a line is written after the answer
        time.sleep(0.01)
    said = [(line.method, line.path, line.status, line.key, line.error) for line in own(caplog)]
    assert said == [
        ("POST", "/v1/extract", 200, "the-admin", ""),
        ("POST", "/v1/extract", 422, "the-admin", "invalid_request"),
        ("GET", "/v1/jobs/{job}", 404, "the-admin", "not_found"),
        ("GET", "", 404, "", "not_found"),
    ]
    assert all(line.milliseconds > 0 for line in own(caplog))
    assert WORD not in str([vars(line) for line in own(caplog)])


def test_an_unexpected_error_is_answered_and_its_message_stays_out_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "layoutray")

    def fail() -> None:
        raise ValueError(WORD)

    api = FastAPI()
    api.add_middleware(RequestLog)
    api.add_api_route("/", fail)
    message = refused(TestClient(api).get("/"), 500, "internal")
    assert message == "internal error; see the log of the endpoint"
    assert [line.levelname for line in own(caplog)] == ["ERROR", "INFO"]
    assert "ValueError" in own(caplog)[0].getMessage()
    assert WORD not in str([line.getMessage() for line in own(caplog)])


def test_metrics_tell_models_versions_and_fields_apart(admin: httpx.Client, endpoint: ServeSettings) -> None:
    answer = admin.post("/v1/extract", json=BODY).json()
    with closing(sqlite3.connect(endpoint.drift)) as kept:
        rows = kept.execute("SELECT content FROM first WHERE version = ?", [answer["model_version"]]).fetchall()
    words = {word["text"] for page in BODY["pages"] for word in page["words"] if len(word["text"]) > 3}
    assert rows
    assert words
    assert not any(word in content for (content,) in rows for word in words)
    text = admin.get("/metrics").text
    labels = f'model="untrained",version="{answer["model_version"]}"'
    assert f"layoutray_documents_total{{{labels}}}" in text
    assert f'layoutray_drift_evidence{{model="untrained",signal="",version="{answer["model_version"]}"}} 0.0' in text
    assert answer["document"]["fields"]
    for field in answer["document"]["fields"]:
        accepted = str(field["accepted"]).lower()
        found = f'layoutray_field_confidence_count{{accepted="{accepted}",field="{field["name"]}",{labels}}}'
        assert found in text
    types = {entity["type"] for entity in answer["document"]["entities"]}
    counted = set(re.findall(r"layoutray_entity_confidence_count{model=\"untrained\",type=\"(\w+)\"", text))
    assert types
    assert types <= counted
