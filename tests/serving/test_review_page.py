"""A document that is uploaded to the review page of the endpoint."""

from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from layoutray.review.store import ReviewStore
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import refused
from tests.ocr.files import pdf, typed
from tests.serving.in_process import application


@pytest.mark.ocr
def test_it_is_kept_with_the_pages_that_were_read(endpoint: ServeSettings, tmp_path: Path) -> None:
    file = str(tmp_path / "review.db")
    data = pdf(typed("Total 7", x=9, y=9))
    with application(replace(endpoint, keys="", jobs="", models={}, review=file)) as app:
        client = TestClient(app, base_url="http://127.0.0.1")
        client.headers["X-CSRF-Token"] = client.post("/review/session", json={"reviewer": "anna"}).json()["token"]
        response = client.post("/review/documents", files={"file": ("a.pdf", data)})
        assert response.status_code == 200, response.text
        refused(client.post("/review/documents", files={"file": ("a", b"GIF89a")}), 415, "unsupported_type")
        promised = client.get("/review/promises").json()
        assert [text.partition(":")[0] for text in promised] == ["date", "total", "all fields"]
        for field in ("date", "total", ""):
            assert f'layoutray_promise_needs{{field="{field}"}} 253.0' in client.get("/metrics").text
    store = ReviewStore.open(file)
    number = response.json()["number"]
    page, entry = store.page(number, 1), store.entry(number)
    content = store.content(number)
    store.close()
    assert page
    assert entry
    assert ([word.text for word in page.words], page.provenance.words) == (["Total", "7"], "text_layer")
    assert (page.source, entry.doc_id, content) == ("a.pdf", page.doc_id, data)
