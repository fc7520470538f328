"""The HTTP routes on a model in this process, without Ray."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from layoutray.devices import CPU
from layoutray.document.word_source import WordSource
from layoutray.inference.extractor import Extractor
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.serving import routes
from layoutray.serving.access.auth import make_guard
from layoutray.serving.answerer import DEFAULT, Answerer
from layoutray.serving.capacity import Capacity
from layoutray.serving.in_process import InProcess
from layoutray.serving.limits import Limits
from layoutray.serving.model import LoadedVersion, Loader, ModelDescription, Version
from layoutray.serving.telemetry import Telemetry
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import as_request, refused, rendered
from tests.ocr.files import encoded, fillable_pdf, pdf, text_field, typed
from tests.serving.in_process import PLAIN


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    folder = tmp_path_factory.mktemp("model") / "checkpoint"
    save_untrained(folder, fields={"total": {"form_fields": ["sum"]}})
    with IsolatedRecogniser(Recognition(profile="fast")) as recogniser:
        yield InProcess(Loader(CPU).load(Version(str(folder), "7")), recogniser)


def client(answerer: Answerer) -> TestClient:
    telemetry = Telemetry()
    guard = make_guard("", "", telemetry)
    served = routes.Routes(
        answerer=answerer,
        limits=Limits(max_pages=2),
        telemetry=telemetry,
        guard=guard,
        capacity=Capacity(1, 1, 1),
    )
    return TestClient(served.api(), raise_server_exceptions=False)


def test_words_are_answered_as_by_the_extractor(answerer: InProcess) -> None:
    asked = client(answerer)
    answer = asked.post("/v1/extract?words=true", json=as_request(*rendered())).json()
    assert (answer["status"], answer["model_version"]) == ("success", "7")
    assert len(answer["pages"][0]["words"]) == len(rendered()[1])
    assert [field["name"] for field in answer["document"]["fields"]] == ["total"]
    checkpoint = asyncio.run(answerer.model()).version.checkpoint
    assert {one["type"] for one in answer["document"]["entities"]} <= set(Extractor.load(checkpoint).entity_types)
    assert asked.get("/readyz").json()["model_version"] == "7"
    assert [model["path"] for model in asked.get("/v1/models").json()["models"]] == ["/v1/extract"]


@pytest.mark.parametrize(
    ("learnt", "told"),
    [
        (WordSource(words="ocr", engine="rapidocr", version="3"), "rapidocr 3, and these are of annotation"),
        (WordSource(words="annotation"), None),
    ],
)
def test_words_of_another_source_than_those_that_the_model_has_learnt_from_are_told(
    answerer: InProcess, learnt: WordSource, told: str | None
) -> None:
    description = replace(asyncio.run(answerer.model()), learnt=(learnt,))
    loaded = LoadedVersion(Extractor.load(description.version.checkpoint), description, (), 0)
    with IsolatedRecogniser(Recognition()) as recogniser:
        asked = client(InProcess(loaded, recogniser))
        answer = asked.post("/v1/extract", json=as_request(*rendered())).json()
    assert [told in warning["message"] for warning in answer.get("warnings", [])] == ([True] if told else [])


def test_a_form_field_is_answered_without_the_model_and_says_so_when_the_page_shows_another_value(
    answerer: InProcess,
) -> None:
    asked = client(answerer)
    for drawn, confidence in (("12.00", 1.0), ("99.00", 0.5)):
        form = fillable_pdf(text_field("sum", "12.00", drawn), printed="Total 14 March 2020")
        document = asked.post("/v1/extract", files={"file": ("form.pdf", form)}).json()["document"]
        (field,) = document["fields"]
        assert (field["name"], field["value"], field["form_field"]) == ("total", "12.00", "sum")
        assert (field["confidence"], field["accepted"]) == (confidence, drawn == "12.00")
        assert field.get("drawn") == (None if drawn == "12.00" else drawn)
        assert ("but the page shows" in field["reason"]) == (drawn != "12.00")
        assert field["bounding_regions"][0]["page_number"] == 1
        assert [entity["form_field"] for entity in document["entities"]] == ["sum"], "the model has read nothing"


@pytest.mark.ocr
def test_a_file_is_read_and_each_refusal_has_its_reason(answerer: InProcess) -> None:
    asked = client(answerer)

    def post(data: bytes, path: str = "/v1/extract") -> dict[str, object]:
        return asked.post(path, files={"file": ("page", data)})  # pyright: ignore[reportReturnType]

    answer = post(pdf(*[typed("Total 7", x=9, y=9)] * 2)).json()
    assert [page["num_words"] for page in answer["pages"]] == [2, 2]
    assert post(encoded(rendered()[0], "PNG")).json()["timings"]["ocr_ms"] > 0
    refused(post(pdf(typed("x", x=9, y=9))[:60]), 422, "unreadable")
    refused(post(b"GIF89a"), 415, "unsupported_type")
    refused(post(pdf(typed("x", x=9, y=9)), "/v1/models/letters/extract"), 404, "unknown_model")
    refused(post(pdf(typed("x", x=9, y=9)), "/v1/summarize"), 404, "not_offered")


def test_a_model_that_does_not_answer_is_no_slow_document(answerer: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(name: str = DEFAULT) -> ModelDescription:
        await asyncio.sleep(60)
        raise AssertionError(name)

    monkeypatch.setattr(answerer, "model", never)
    monkeypatch.setattr(routes, "_HEALTH_SECONDS", 0.05)
    message = refused(client(answerer).get("/v1/models"), 504, "timeout")
    assert message == "the model took longer than 0.05 s; try again later"


class _Plain:
    """Has one model, and answers nothing."""

    async def model(self, name: str) -> ModelDescription:
        return PLAIN


def test_a_model_that_cannot_explain_says_so_before_it_writes() -> None:
    refusal = client(_Plain()).post("/v1/summarize?explain=true", json={"text": "All of it."})
    assert "plain has no selection of words; take one that pools" in refused(refusal, 422, "invalid_request")
