"""Summaries over real HTTP: real Ray Serve, real OCR, and a model that has learned eight documents by heart."""

import asyncio
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pypdfium2 as pdfium
import pytest
from PIL import Image

from layoutray.document import Page
from layoutray.inference.generation import Text, TextGenerator
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.readers.texts import typeset_pages
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from layoutray.synthetic.render import render_page
from tests.cluster.running_endpoint import gathered, measured, refused, serving
from tests.documents import pages, summary
from tests.jobs import vocabulary
from tests.ocr.files import encoded, pdf, typed

pytestmark = [pytest.mark.ray, pytest.mark.ocr, pytest.mark.slow]

WHOLES = [pages(number) for number in range(8)]


@pytest.fixture(scope="module")
def settings(trained_on_summaries: tuple[Path, list[list[Page]]], serve_port: int) -> ServeSettings:
    checkpoint, _ = trained_on_summaries
    limits = Limits(max_upload_bytes=2**20, max_pages=3)
    fast = Recognition(profile="fast")
    return ServeSettings(str(checkpoint), recognition=fast, limits=limits, cpus_per_replica=0.2, port=serve_port)


@pytest.fixture(scope="module")
def client(settings: ServeSettings, cluster: None) -> Iterator[httpx.Client]:
    with serving(settings) as client:
        yield client


@pytest.fixture(scope="module")
def writer(settings: ServeSettings) -> TextGenerator:
    return TextGenerator.load(settings.checkpoint)


def as_request(whole: list[Page]) -> dict[str, Any]:
    sent = []
    for page in whole:
        words = [{"text": word.text, "box": list(word.box.to_pixels(page.width, page.height))} for word in page.words]
        sent.append({"width": page.width, "height": page.height, "words": words})
    return {"pages": sent}


def asked(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    response = client.post("/v1/summarize", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def shown(text: Text) -> dict[str, Any]:
    return {
        "text": text.text,
        "tokens": text.tokens,
        "tokens_read": text.tokens_read,
        "cut": text.tokens_read < text.tokens,
    }


def test_documents_that_come_together_share_batches_and_get_their_own_summaries(client: httpx.Client) -> None:
    before = measured(client)
    answers = asyncio.run(
        gathered(client.base_url, [{"url": "/v1/summarize", "json": as_request(whole)} for whole in WHOLES])
    )
    assert {answer.status_code for answer in answers} == {200}
    for answer, whole in zip(answers, WHOLES, strict=True):
        written = vocabulary().text_to_ids(answer.json()["summary"]["text"])
        assert written == vocabulary().text_to_ids(summary(whole)), "of both pages, in order"
        assert [page["page_number"] for page in answer.json()["pages"]] == [1, 2]
    after = measured(client)
    alone = after['layoutray_batch_pages_bucket{le="1.0"}'] - before.get('layoutray_batch_pages_bucket{le="1.0"}', 0)
    assert alone < 4
    assert (
        after['layoutray_pages_total{outcome="answered"}'] - before.get('layoutray_pages_total{outcome="answered"}', 0)
        == 16
    )


def test_an_answer_says_what_made_it(client: httpx.Client, writer: TextGenerator) -> None:
    answer = asked(client, as_request(WHOLES[0]))
    assert (answer["model_id"], answer["model_version"], answer["status"]) == (
        writer.model_id,
        writer.model_version,
        "success",
    )
    assert (answer["summary"]["cut"], answer["errors"], answer["schema_version"]) == (False, [], "1.6")
    assert [(page["width"], page["height"], "words" in page) for page in answer["pages"]] == [(600, 800, False)] * 2
    assert answer["timings"]["ocr_ms"] == 0 < answer["timings"]["model_ms"] < answer["timings"]["total_ms"]
    (model,) = client.get("/v1/models").json()["models"]
    assert (model["model_id"], model["path"], model["entity_types"]) == (writer.model_id, "/v1/summarize", [])


def test_a_file_is_read_page_by_page_and_written_about_as_a_whole(client: httpx.Client, writer: TextGenerator) -> None:
    drawn = [render_page(Random(seed))[0] for seed in ("first", "second")]
    data = encoded(drawn[0], "TIFF", save_all=True, append_images=drawn[1:], compression="tiff_lzw")
    response = client.post("/v1/summarize", files={"file": ("scan.tiff", data)})
    assert response.status_code == 200, response.text
    with IsolatedRecogniser(Recognition(profile="fast")) as recogniser:
        seen = [recogniser.recognise(data, number) for number in (1, 2)]
    read = [
        Page(
            doc_id="",
            number=number,
            width=one.width,
            height=one.height,
            words=one.words,
            source="",
            image="",
            split="",
            provenance=one.provenance,
        )
        for number, one in enumerate(seen, 1)
    ]
    assert response.json()["summary"] == shown(writer.write([read])[0])
    assert response.json()["summary"]["cut"] is True, "a text of two such pages is longer than 160 tokens"
    assert response.json()["timings"]["ocr_ms"] > 0


def test_a_text_is_set_on_pages_as_those_of_data_sets_are(client: httpx.Client, writer: TextGenerator) -> None:
    text = "total 12.50 3.10\n\ndate 7.90 " + "cash 1.00 " * 100
    answer = asked(client, {"text": text})
    (expected,) = writer.write([typeset_pages(text, "")])
    assert answer["summary"] == shown(expected)
    assert answer["summary"]["tokens"] > answer["summary"]["tokens_read"] == 160
    assert [(page["width"], page["height"]) for page in answer["pages"]] == [(640, 800)]


def test_pages_that_fail_are_left_out_and_said(client: httpx.Client) -> None:
    with pdfium.PdfDocument(pdf(typed("Total 12.00 on 1 May", x=50, y=700))) as file:
        file.new_page(14400, 14400)
        stream = BytesIO()
        file.save(stream)
    answer = client.post("/v1/summarize", files={"file": ("a.pdf", stream.getvalue())}).json()
    assert answer["status"] == "partial_success"
    assert [page["page_number"] for page in answer["pages"]] == [1]
    assert [(problem["code"], problem["page_number"]) for problem in answer["errors"]] == [("too_large", 2)]


def test_a_document_without_words_has_no_summary(client: httpx.Client) -> None:
    blank = encoded(Image.new("L", (800, 600), 255), "PNG")
    answer = client.post("/v1/summarize", files={"file": ("blank.png", blank)}).json()
    assert (answer["status"], answer["summary"]) == (
        "success",
        {"text": "", "tokens": 0, "tokens_read": 0, "cut": False},
    )


def test_bodies_that_hold_no_document_are_refused(client: httpx.Client) -> None:
    def refusal(body: Any, status: int = 422, code: str = "invalid_request") -> str:
        return refused(client.post("/v1/summarize", json=body), status, code)

    assert "either pages or text" in refusal({})
    assert "either pages or text" in refusal({"text": "a", **as_request(WHOLES[0])})
    assert "it has no word" in refusal({"text": " \n "})
    assert "pages" in refusal({"pages": []})
    assert "box" in refusal({"pages": [{"width": 9, "height": 9, "words": [{"text": "a", "box": [0, 0, 5, 10]}]}]})
    assert "characters; at most 12000 are allowed" in refusal({"text": "a" * 12_001}, 413, "too_large")
    assert "4 pages; at most 3 are allowed" in refusal({"text": "a\n" * 151}, 413, "too_large")
    assert "4 pages; at most 3 are allowed" in refusal({"pages": as_request(WHOLES[0])["pages"] * 2}, 413, "too_large")
    refused(client.post("/v1/summarize", files={"file": ("a", b"no picture")}), 415, "unsupported_type")


def test_an_explanation_has_the_words_that_are_kept_with_their_places(
    client: httpx.Client, writer: TextGenerator
) -> None:
    whole = WHOLES[2]
    response = client.post("/v1/summarize", json=as_request(whole), params={"explain": "true"})
    assert response.status_code == 200, response.text
    (expected,) = writer.selections([whole])
    found = response.json()["explanation"]
    assert found["kept_states"] == expected.kept
    places = [(page, index) for page in whole for index in range(len(page.words))]
    assert {page.number for page, _ in (places[word.number] for word in expected.words)} == {1, 2}
    for answered, word in zip(found["words"], expected.words, strict=True):
        page, index = places[word.number]
        assert (answered["page_number"], answered["word"], answered["content"]) == (
            page.number,
            index,
            page.words[index].text,
        )
        assert answered["polygon"] == pytest.approx(page.words[index].box.polygon(page.width, page.height), abs=0.01)
        assert (answered["states"], answered["weight"]) == (word.states, pytest.approx(word.weight, abs=1e-4))


def test_explanations_are_for_those_who_ask(client: httpx.Client) -> None:
    requests = [
        {"url": "/v1/summarize", "json": as_request(whole), "params": {"explain": number % 2}}
        for number, whole in enumerate(WHOLES)
    ]
    answers = asyncio.run(gathered(client.base_url, requests))
    assert ["explanation" in answer.json() for answer in answers] == [False, True] * 4
    assert len({str(answer.json()["explanation"]) for answer in answers[1::2]}) == 4


def test_a_model_that_writes_finds_no_entities(client: httpx.Client) -> None:
    message = refused(client.post("/v1/extract", json=as_request(WHOLES[0])), 404, "not_offered")
    assert message == "model small-summary is served at /v1/summarize"
