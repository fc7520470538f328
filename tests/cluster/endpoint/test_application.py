"""The endpoint over real HTTP: real Ray Serve, real OCR, a real (untrained) model."""

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from io import BytesIO
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pandas as pd
import pypdfium2 as pdfium
import pytest
from PIL import Image

from layoutray.devices import CPU
from layoutray.document import Box, Page, Provenance, Word
from layoutray.inference.extractor import Extractor
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.ocr.tesseract.settings import Preprocessing, TesseractSettings
from layoutray.pyfunc import DocumentModel
from layoutray.serving.limits import Limits
from layoutray.serving.model import Loader, Version
from layoutray.serving.settings import ServeSettings
from layoutray.synthetic.render import render_page
from layoutray.tasks.field_answers import field_answers
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import as_request, gathered, measured, refused, rendered, serving
from tests.cluster.shared_ray import free_port
from tests.cluster.test_ingest import LOCKED
from tests.ocr.files import encoded, pdf, typed

pytestmark = [pytest.mark.ray, pytest.mark.ocr]

MAX_UPLOAD = 2**20


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serve") / "checkpoint"
    save_untrained(folder, fields={"date": {"many": True}, "total": {}})
    return folder


@pytest.fixture(scope="module")
def settings(checkpoint: Path, serve_port: int) -> ServeSettings:
    limits = Limits(max_upload_bytes=MAX_UPLOAD, max_pages=3)
    return ServeSettings(
        str(checkpoint),
        recognition=Recognition(profile="fast"),
        limits=limits,
        ocr_replicas=2,
        model_replicas=0,
        cpus_per_replica=0.2,
        port=serve_port,
    )


@pytest.fixture(scope="module")
def client(settings: ServeSettings, cluster: None) -> Iterator[httpx.Client]:
    with serving(settings) as client:
        yield client


def post(client: httpx.Client, data: bytes, **parameters: Any) -> httpx.Response:
    return client.post("/v1/extract", files={"file": ("page", data)}, params=parameters)


def plain(entities: Any) -> list[tuple[str, str, float]]:
    return [(entity.type, entity.content, pytest.approx(entity.confidence, abs=1e-4)) for entity in entities]


def listed(answer: dict[str, Any]) -> list[tuple[str, str, float]]:
    return [(entity["type"], entity["content"], entity["confidence"]) for entity in answer["document"]["entities"]]


def test_an_image_is_answered_as_reading_and_model_would_in_one_process(
    client: httpx.Client, settings: ServeSettings
) -> None:
    data = encoded(rendered()[0], "PNG")
    response = post(client, data, words="true")
    assert response.status_code == 200, response.text
    answer = response.json()
    with IsolatedRecogniser(Recognition(profile="fast")) as recogniser:
        seen = recogniser.recognise(data, 1)
    page = seen.of_document("", "")
    extractor = Extractor.load(settings.checkpoint)
    (expected,) = extractor.extract([page])
    assert expected
    assert listed(answer) == plain(expected)
    regions = [region for entity in answer["document"]["entities"] for region in entity["bounding_regions"]]
    assert regions == [
        {"page_number": 1, "polygon": list(region.polygon)} for entity in expected for region in entity.bounding_regions
    ]
    assert (answer["model_id"], answer["model_version"], answer["status"]) == (
        extractor.model_id,
        extractor.model_version,
        "success",
    )
    (shown,) = answer["pages"]
    assert (shown["page_number"], shown["width"], shown["height"], shown["unit"]) == (1, *rendered()[0].size, "pixel")
    assert [word["content"] for word in shown["words"]] == [word.text for word in seen.words]
    assert shown["num_words"] == len(seen.words) > 20
    assert answer["errors"] == []
    assert 0 < answer["timings"]["ocr_ms"] < answer["timings"]["total_ms"]


def test_the_pyfunc_of_the_checkpoint_gives_the_same_answers(client: httpx.Client, settings: ServeSettings) -> None:
    image, words = rendered()
    body, file = as_request(image, words), encoded(image, "PNG")
    version = Loader(CPU).load(Version(settings.checkpoint, ""))
    model = DocumentModel(version, settings.recognition)
    answers = model.predict(pd.DataFrame({"file": [file, None, b"GIF89a"], "pages": [None, body["pages"], None]}))
    responses = [post(client, file), client.post("/v1/extract", json=body), post(client, b"GIF89a")]
    for answer, response in zip(answers, map(httpx.Response.json, responses), strict=True):
        for one in (answer, response):  # the identity of words is that of the body's bytes, with or without blanks
            one |= {"timings": None, "doc_id": None}
        assert answer == response


def test_words_come_only_on_demand(client: httpx.Client) -> None:
    (page,) = post(client, encoded(rendered()[0], "JPEG")).json()["pages"]
    assert "words" not in page
    assert page["num_words"] > 20


def test_words_and_boxes_need_no_picture(client: httpx.Client, settings: ServeSettings) -> None:
    image, words = rendered()
    response = client.post("/v1/extract", json=as_request(image, words))
    assert response.status_code == 200, response.text
    boxes = [Box.from_pixels(word["box"], *image.size) for word in words]
    read = tuple(Word(text=word["text"], box=box) for word, box in zip(words, boxes, strict=True))
    page = Page(
        doc_id="",
        number=1,
        width=image.width,
        height=image.height,
        words=read,
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason=""),
    )
    (expected,) = Extractor.load(settings.checkpoint).extract([page])
    assert listed(response.json()) == plain(expected)
    assert response.json()["timings"]["ocr_ms"] == 0


def test_a_page_that_fails_costs_that_page_alone(client: httpx.Client) -> None:
    with pdfium.PdfDocument(pdf(typed("Total 12.00 on 1 May", x=50, y=700))) as document:
        document.new_page(14400, 14400)  # 5 m wide: far more pixels than are drawn
        stream = BytesIO()
        document.save(stream)
    response = post(client, stream.getvalue())
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["status"] == "partial_success"
    assert [page["page_number"] for page in answer["pages"]] == [1]
    (problem,) = answer["errors"]
    assert (problem["code"], problem["stage"], problem["page_number"], problem["retryable"]) == (
        "too_large",
        "render",
        2,
        False,
    )
    assert measured(client)['layoutray_failures_total{reason="too_large"}'] >= 1


def test_fields_are_those_of_the_whole_document(client: httpx.Client, settings: ServeSettings) -> None:
    pages = [render_page(Random(seed))[0] for seed in ("first", "second", "third")]
    data = encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    document = post(client, data).json()["document"]
    with IsolatedRecogniser(Recognition(profile="fast")) as recogniser:
        seen = [recogniser.recognise(data, number) for number in (1, 2, 3)]
    extractor = Extractor.load(settings.checkpoint)
    read = [one.of_document("", "") for one in seen]
    expected = field_answers(sum(extractor.extract(read), ()), extractor.fields)
    assert [(field["name"], field["value"], field["content"]) for field in document["fields"]] == [
        (one.name, one.value, one.content) for one in expected
    ]
    assert [(field["confidence"], field["score"]) for field in document["fields"]] == [
        pytest.approx((one.confidence, one.score), abs=1e-4) for one in expected
    ]
    places = [
        [(region["page_number"], tuple(region["polygon"])) for region in field["bounding_regions"]]
        for field in document["fields"]
    ]
    assert places == [[(region.page_number, region.polygon) for region in one.bounding_regions] for one in expected]
    assert {number for place in places for number, _ in place} == {1, 2, 3}


def test_a_page_without_text_has_no_entities(client: httpx.Client) -> None:
    answer = post(client, encoded(Image.new("L", (800, 600), 255), "PNG")).json()
    assert (answer["status"], answer["document"], answer["pages"][0]["num_words"]) == (
        "success",
        {"entities": [], "fields": [], "records": [], "sums": []},
        0,
    )


def test_unusable_files_are_refused_by_reason(client: httpx.Client) -> None:
    whole = encoded(rendered()[0], "PNG")
    refused(post(client, b""), 422, "empty_file")
    refused(post(client, whole[: len(whole) // 2]), 422, "unreadable")
    refused(post(client, pdf(typed("x", x=9, y=9))[:60]), 422, "unreadable")
    assert "password" in refused(post(client, pdf(typed("x", x=9, y=9), trailer_entries=LOCKED)), 422, "encrypted")
    assert "GIF" in refused(post(client, encoded(rendered()[0], "GIF")), 415, "unsupported_type")
    pages = pdf(*[typed("x", x=9, y=9)] * 4)
    assert "4 pages; at most 3 are allowed" in refused(post(client, pages), 413, "too_large")


def test_a_decompression_bomb_is_refused(client: httpx.Client) -> None:
    bomb = encoded(Image.new("1", (20_000, 20_000)), "PNG")
    assert len(bomb) < MAX_UPLOAD
    refused(post(client, bomb), 413, "too_large")


def test_bodies_that_hold_no_document_are_refused(client: httpx.Client) -> None:
    def send(content: bytes, kind: str) -> httpx.Response:
        return client.post("/v1/extract", content=content, headers={"Content-Type": kind} if kind else {})

    refused(send(b"", ""), 400, "no_file")
    refused(client.post("/v1/extract", files={"document": ("a.png", b"x")}), 400, "no_file")
    refused(client.post("/v1/extract", files=[("file", ("a", b"x")), ("file", ("b", b"x"))]), 400, "malformed_request")
    refused(send(b"--nonsense", "multipart/form-data; boundary=other"), 400, "malformed_request")
    refused(send(b"<xml/>", "application/xml"), 415, "unsupported_type")
    refused(send(b'{"pages": [', "application/json"), 400, "malformed_request")
    assert "pages" in refused(send(b'{"pages": []}', "application/json"), 422, "invalid_request")
    refused(client.get("/v1/extract"), 405, "method_not_allowed")
    refused(client.get("/v2"), 404, "not_found")
    assert "model untrained is served at /v1/extract" in refused(
        client.post("/v1/summarize", json={"text": "A text."}), 404, "not_offered"
    )
    assert "words" in refused(client.post("/v1/extract?words=perhaps"), 422, "invalid_request")


@pytest.mark.parametrize("box", [[30, 10, 20, 40], [10, 10, 20, 101], [-1, 0, 5, 5]])
def test_a_box_that_fits_no_page_is_named(client: httpx.Client, box: list[float]) -> None:
    page = {"width": 100, "height": 100, "words": [{"text": "a", "box": [0, 0, 5, 5]}, {"text": "b", "box": box}]}
    message = refused(client.post("/v1/extract", json={"pages": [page]}), 422, "invalid_request")
    assert "pages[0].words[1].box" in message
    assert "100 (page width)" in message


def test_too_much_is_refused_before_it_has_all_come(client: httpx.Client) -> None:
    refused(post(client, b"\x89PNG\r\n\x1a\n" + bytes(MAX_UPLOAD)), 413, "too_large")
    with closing(HTTPConnection(client.base_url.host, client.base_url.port, timeout=60)) as connection:
        connection.putrequest("POST", "/v1/extract")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        for _ in range(17):
            connection.send(b"10000\r\n" + bytes(2**16) + b"\r\n")
        response = connection.getresponse()  # though the body never ended
        assert (response.status, json.loads(response.read())["error"]["code"]) == (413, "too_large")


def test_requests_that_come_together_share_batches(client: httpx.Client) -> None:
    before = measured(client)
    requests = [{"url": "/v1/extract", "json": as_request(*rendered())}] * 16
    answers = asyncio.run(gathered(client.base_url, requests))
    assert {answer.status_code for answer in answers} == {200}
    assert len({str(answer.json()["document"]["entities"][0]["words"]) for answer in answers}) == 1
    after = measured(client)
    pages = after["layoutray_batch_pages_count"] - before.get("layoutray_batch_pages_count", 0)
    alone = after['layoutray_batch_pages_bucket{le="1.0"}'] - before.get('layoutray_batch_pages_bucket{le="1.0"}', 0)
    assert pages == 16
    assert alone < 8


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_overload_and_time_out_are_told_apart_and_leave_nothing_behind(settings: ServeSettings) -> None:
    """One reader, nobody may wait, five seconds, and a page with the text of 36, which takes several times that."""
    page = rendered()[0]
    crowded = Image.new(page.mode, (6 * page.width, 6 * page.height))
    for row, column in product(range(6), repeat=2):
        crowded.paste(page, (column * page.width, row * page.height))
    slow = encoded(crowded, "PNG")
    limits = Limits(timeout_s=5, max_queued_requests=0)
    recognition = Recognition(
        engine="tesserocr", settings=TesseractSettings(preprocessing=Preprocessing(width=0, clahe=0))
    )
    tight = replace(settings, limits=limits, recognition=recognition, ocr_replicas=1, port=free_port())
    file: dict[str, Any] = {"url": "/v1/extract", "files": {"file": ("page", slow)}}
    words: dict[str, Any] = {"url": "/v1/extract", "json": as_request(*rendered())}
    with serving(tight, name="tight") as client, ThreadPoolExecutor(1) as other:
        first = other.submit(lambda: client.post(**file))
        # A request that comes after its time would find the place free again.
        while "layoutray_requests_in_flight 1.0" not in client.get("/metrics").text:
            assert not first.done()
        *answers, answer_to_words = asyncio.run(gathered(client.base_url, [*[file] * 4, words]))
        late = first.result()
        later = client.post("/v1/extract", json=as_request(*rendered()))
        counts = client.get("/metrics").text
    assert answer_to_words.status_code == 200, "words need no reader"
    assert "5 s" in refused(late, 504, "timeout")
    assert late.json()["error"]["retryable"] is True
    for answer in answers:
        refused(answer, 503, "overloaded")
        assert int(answer.headers["Retry-After"]) >= 1
    assert later.status_code == 200
    assert 'layoutray_requests_total{status="503"} 4.0' in counts
    assert 'layoutray_requests_total{status="504"} 1.0' in counts
    assert "layoutray_requests_in_flight 0.0" in counts


def test_health_models_and_metrics(client: httpx.Client, settings: ServeSettings) -> None:
    loaded = Extractor.load(settings.checkpoint)
    assert client.get("/healthz").json() == {"status": "ok", "model_version": loaded.model_version}
    (model,) = client.get("/v1/models").json()["models"]
    found = {
        "model_id": "untrained",
        "model_version": loaded.model_version,
        "path": "/v1/extract",
        "entity_types": ["date", "total"],
        "tried_on": "a generated page",
    }
    assert model == found
    post(client, encoded(rendered()[0], "PNG"))
    counts = measured(client)
    assert counts['layoutray_requests_total{status="200"}'] >= 1
    assert counts["layoutray_ocr_seconds_sum"] > 0


def test_the_description_is_whole(client: httpx.Client) -> None:
    description = client.get("/openapi.json")
    named = set(re.findall(r"#/components/schemas/(\w+)", description.text))
    assert named <= set(description.json()["components"]["schemas"])
    assert {
        "ExtractRequest",
        "SummarizeRequest",
        "WordInput",
        "ExtractResponse",
        "SummarizeResponse",
        "ErrorResponse",
    } <= named
    for path in ("/v1/extract", "/v1/summarize"):
        described = description.json()["paths"][path]["post"]
        assert set(described["requestBody"]["content"]) == {"multipart/form-data", "application/json"}
        assert {"200", "400", "404", "413", "415", "422", "500", "503", "504"} <= set(described["responses"])
    assert client.get("/docs").status_code == 200
