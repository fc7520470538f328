"""Keys, quotas and the audit log over real HTTP: real Ray Serve, real OCR, a real (untrained) model."""

import json
import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import ray

from layoutray.inference.extractor import Extractor
from layoutray.serving.access.keys import KeyStore, Scope
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import as_request, refused, rendered
from tests.ocr.files import encoded, picture

pytestmark = [pytest.mark.ray, pytest.mark.ocr, pytest.mark.usefixtures("cluster")]

BODY = as_request(*rendered())
DRAWN, SENT = ("BLUNDERBUSS", "QUIXOTRY"), ("Flibbertigibbet", "Gobbledygook")
"""Words that occur nowhere else: in a picture, and as words of the client."""


def header(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def extract(client: httpx.Client, key: str, **request: Any) -> httpx.Response:
    return client.post("/v1/extract", headers=header(key), **(request or {"json": BODY}))


def audited(settings: ServeSettings) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(settings.audit).read_text().splitlines()]


def test_without_a_valid_key_nothing_is_answered(client: httpx.Client, store: KeyStore) -> None:
    text = store.create("valid", ["extract"])
    assert extract(client, text).status_code == 200
    for sent in ({}, {"Authorization": text}, {"Authorization": "Basic YTpi"}, {"X-Api-Key": text}):
        response = client.post("/v1/extract", headers=sent, json=BODY)
        assert "Authorization: Bearer KEY" in refused(response, 401, "no_key")
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="layoutray"'
    for wrong in (text[:-1], text + "0", text.upper(), text.replace("valid", "other"), "layoutray_valid_", "x", "_"):
        response = extract(client, wrong)
        assert "revoked" in refused(response, 401, "invalid_key")
        assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
    counts = client.get("/metrics", headers=header(store.create("counting", ["admin"]))).text
    assert 'layoutray_failures_total{reason="invalid_key"} 7.0' in counts
    assert 'layoutray_requests_total{status="401"} 11.0' in counts


@pytest.mark.parametrize(
    ("scope", "open_to"),
    [
        ("extract", {"extract", "models"}),
        ("review", {"models"}),
        ("metrics", {"metrics"}),
        ("admin", {"extract", "models", "metrics"}),
    ],
)
def test_a_scope_opens_its_paths(client: httpx.Client, store: KeyStore, scope: Scope, open_to: set[str]) -> None:
    key = store.create(f"scope-{scope}", [scope])
    answers = {
        "extract": extract(client, key),
        "models": client.get("/v1/models", headers=header(key)),
        "metrics": client.get("/metrics", headers=header(key)),
    }
    assert {name for name, answer in answers.items() if answer.status_code == 200} == open_to
    for name in answers.keys() - open_to:
        assert f"key scope-{scope} has the scopes {scope}" in refused(answers[name], 403, "missing_scope")
        assert 'error="insufficient_scope"' in answers[name].headers["WWW-Authenticate"]


def test_liveness_and_description_need_no_key(client: httpx.Client) -> None:
    for path in ("/livez", "/readyz", "/healthz", "/docs"):
        assert client.get(path).status_code == 200
    description = client.get("/openapi.json").json()
    assert description["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert description["paths"]["/v1/extract"]["post"]["security"] == [{"HTTPBearer": []}]
    assert {"401", "403", "429"} <= set(description["paths"]["/v1/extract"]["post"]["responses"])
    assert "security" not in description["paths"]["/healthz"]["get"]


def test_a_key_that_is_revoked_is_refused_with_the_next_request(client: httpx.Client, store: KeyStore) -> None:
    key = store.create("leaver", ["extract"])
    assert extract(client, key).status_code == 200
    store.revoke("leaver")
    refused(extract(client, key), 401, "invalid_key")


def test_too_many_requests_are_told_when_to_come_again(client: httpx.Client, store: KeyStore) -> None:
    key = store.create("eager", ["extract"], requests_per_minute=2)
    assert [extract(client, key).status_code for _ in range(2)] == [200, 200]
    response = extract(client, key)
    assert "key eager may send 2 requests per minute" in refused(response, 429, "rate_limited")
    assert response.json()["error"]["retryable"] is True
    assert 1 <= int(response.headers["Retry-After"]) <= 30


def test_a_document_is_answered_whole_or_refused_when_the_pages_of_the_day_run_out(
    client: httpx.Client, store: KeyStore, settings: ServeSettings
) -> None:
    key = store.create("small", ["extract"], pages_per_day=3)
    two = {"json": {"pages": BODY["pages"] * 2}}
    assert extract(client, key, **two).status_code == 200
    response = extract(client, key, **two)
    assert "the document has 2 pages; key small has 1 of its 3 pages per day left" in refused(
        response, 429, "quota_exceeded"
    )
    assert 0 < int(response.headers["Retry-After"]) <= 86400
    refused(extract(client, key, json={"pages": []}), 422, "invalid_request")
    refused(extract(client, key, files={"file": ("a.png", b"\x89PNG\r\n\x1a\n")}), 422, "unreadable")
    assert extract(client, key, files={"file": ("a.png", encoded(rendered()[0], "PNG"))}).status_code == 200
    refused(extract(client, key), 429, "quota_exceeded")
    assert [one.pages_today for one in store.list() if one.name == "small"] == [3]
    lines = [(line["pages"], line["outcome"]) for line in audited(settings) if line["key"] == "small"]
    outcomes = [(2, "success"), (2, "quota_exceeded"), (0, "invalid_request"), (0, "unreadable")]
    assert lines == [*outcomes, (1, "success"), (1, "quota_exceeded")]


def test_the_audit_log_says_who_sent_what_and_what_became_of_it(
    client: httpx.Client, store: KeyStore, settings: ServeSettings
) -> None:
    key = store.create("audited", ["extract"])
    before = len(audited(settings))
    answer = extract(client, key).json()
    extract(client, key + "0")
    client.get("/metrics", headers=header(key))
    answered, unknown, forbidden = audited(settings)[before:]
    assert list(answered) == [
        "time",
        "key",
        "path",
        "request_id",
        "document",
        "pages",
        "model",
        "model_version",
        "milliseconds",
        "outcome",
        "owner",
    ]
    assert (answered["key"], answered["path"], answered["document"]) == ("audited", "/v1/extract", answer["doc_id"])
    assert (answered["pages"], answered["outcome"]) == (1, "success")
    assert answered["model"] == answer["model_id"]
    assert answered["model_version"] == Extractor.load(settings.checkpoint).model_version
    assert answered["milliseconds"] >= answer["timings"]["total_ms"]
    assert (unknown["key"], unknown["outcome"]) == ("", "invalid_key")
    assert (forbidden["key"], forbidden["path"], forbidden["outcome"]) == ("audited", "/metrics", "missing_scope")


def send_secrets(client: httpx.Client, key: str) -> None:
    """Send documents with the words, whole and broken, and check that the endpoint has read the words."""
    drawn = encoded(picture("\n".join(DRAWN), size=(900, 400), at=(60, 60)), "PNG")
    upload = {"file": (f"{SENT[0]}.png", drawn)}
    answer = client.post("/v1/extract?words=true", headers=header(key), files=upload).json()
    assert {word["content"] for page in answer["pages"] for word in page["words"]} >= set(DRAWN)
    words = [{"text": word, "box": [10, 10, 90, 20]} for word in SENT]
    page: dict[str, Any] = {"width": 100, "height": 100, "words": words}
    assert extract(client, key, json={"pages": [page]}).status_code == 200
    outside = [{**words[0], "box": [10, 10, 900, 20]}]
    refused(extract(client, key, json={"pages": [{**page, "words": outside}]}), 422, "invalid_request")
    refused(extract(client, key, json={"pages": [{**page, "width": SENT[0]}]}), 422, "invalid_request")
    refused(extract(client, key, json={SENT[0]: SENT[1]}), 422, "invalid_request")
    refused(extract(client, key, content=SENT[0].encode()), 400, "no_file")


def test_no_word_of_a_document_and_no_key_is_in_any_log_or_metric(
    client: httpx.Client, store: KeyStore, settings: ServeSettings, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also no file name. The logs are all that Ray and its workers have written, and the output of this process."""
    key, admin = store.create("secretive", ["extract"]), store.create("operator", ["admin"])
    send_secrets(client, key)
    session = Path(ray.nodes()[0]["ObjectStoreSocketName"]).parents[1]
    logs = [Path(parent, name) for parent, _, names in os.walk(session / "logs") for name in names]
    texts = {str(file): file.read_bytes() for file in [*logs, Path(settings.audit)] if file.is_file()}
    texts |= {
        "metrics": client.get("/metrics", headers=header(admin)).content,
        "output": "".join(capfd.readouterr()).encode(),
    }
    assert any(b"ServeReplica" in name.encode() or "replica_layoutray" in name for name in texts), list(texts)
    assert b"secretive" in texts[settings.audit]
    secrets = [word.lower().encode() for word in (*DRAWN, *SENT)] + [key.rpartition("_")[2].encode()]
    assert [name for name, text in texts.items() if any(secret in text.lower() for secret in secrets)] == []


def logged(request_id: str) -> dict[str, Any]:
    """The line of the log of requests with this id. It is written after the answer."""
    folder = Path(ray.nodes()[0]["ObjectStoreSocketName"]).parents[1] / "logs" / "serve"
    until = time.monotonic() + 30
    while time.monotonic() < until:
        texts = [file.read_text() for file in folder.glob("replica_layoutray_Ingress_*.log")]
        for line in map(json.loads, "".join(texts).splitlines()):
            if line.get("request_id") == request_id and "status" in line:
                return line
        time.sleep(0.1)
    raise AssertionError(f"no line has the id {request_id}")


def test_each_request_has_an_id_in_its_answer_and_in_the_logs(
    client: httpx.Client, store: KeyStore, settings: ServeSettings
) -> None:
    headers = {**header(store.create("traced", ["extract"])), "X-Request-Id": "order-7/a"}
    response = client.post("/v1/extract", json=BODY, headers=headers)
    assert response.headers["X-Request-Id"] == "order-7/a"
    line = logged("order-7/a")
    assert (line["method"], line["path"], line["status"], line["key"]) == ("POST", "/v1/extract", 200, "traced")
    assert audited(settings)[-1]["request_id"] == "order-7/a"
    assert logged(client.get("/none").headers["X-Request-Id"])["error"] == "not_found"
    assert "not UTF-8" in refused(client.get("/livez", headers={"X-Request-Id": b"\xe4"}), 400, "malformed_request")


def signed_in(client: httpx.Client, key: str) -> httpx.Client:
    """A browser of its own, whose session holds `key`."""
    browser = httpx.Client(base_url=client.base_url, timeout=120)
    session = browser.post("/review/session", json={"key": key})
    assert session.status_code == 200, session.text
    assert {"HttpOnly", "SameSite=strict"} <= set(session.headers["Set-Cookie"].split("; "))
    browser.headers["X-CSRF-Token"] = session.json()["token"]
    return browser


def test_the_page_answers_uploads_and_shows_them_to_their_key_only(
    client: httpx.Client, store: KeyStore, settings: ServeSettings
) -> None:
    assert "default-src 'self'" in client.get("/").headers["Content-Security-Policy"]
    refused(client.post("/review/session", json={"key": store.create("no-review", ["extract"])}), 403, "missing_scope")
    refused(client.post("/review/session", json={"key": "layoutray_x_y"}), 401, "invalid_key")
    keys = {name: store.create(name, ["review"]) for name in ("reviewer", "other-reviewer")}
    one, other = (signed_in(client, key) for key in keys.values())
    with closing(one), closing(other):
        file = {"file": ("scan.png", encoded(picture("REVIEWED TOTAL 12.50"), "PNG"), "image/png")}
        refused(one.post("/review/documents", files=file, headers={"X-CSRF-Token": "x"}), 403, "wrong_token")
        refused(one.post("/review/documents", files={"file": ("a.txt", b"no scan")}), 415, "unsupported_type")
        answered = one.post("/review/documents", files=file)
        assert answered.status_code == 200, answered.text
        path = f"/review/documents/{answered.json()['number']}"
        assert [word[0] for word in one.get(f"{path}/pages/1").json()] == ["REVIEWED", "TOTAL", "12.50"]
        assert one.get(f"{path}/pages/1/picture?width=200").headers["Content-Type"] == "image/jpeg"
        assert one.get("/review/documents").json()["count"] == 1
        refused(other.get(path), 404, "not_found")
        assert other.get("/review/documents").json()["count"] == 0
        assert audited(settings)[-1]["key"] == "reviewer"
        store.revoke("reviewer")
        refused(one.get(path), 401, "no_session")
