"""Packets at the endpoint: documents with their pages, each answered by the model of its kind."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from layoutray.cli.shared import deployment
from layoutray.cluster.endpoint.versions import NO_REGISTRY
from layoutray.devices import CPU
from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.ocr.settings import Recognition
from layoutray.pyfunc import DocumentModel
from layoutray.serving.limits import Limits
from layoutray.serving.model import Loader, Version
from layoutray.serving.settings import ServeSettings
from layoutray.serving.submission import word_pages
from layoutray.tasks.packets import split
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import as_request, rendered
from tests.serving.in_process import application

KINDS = ("bill", "deed", "note")
PAGE = as_request(*rendered())["pages"][0]
BLANK = {"width": 100, "height": 100, "words": []}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    """A model of pages, which guesses; one of fields for bills; for deeds one that extracts nothing; none for notes."""
    folder = tmp_path_factory.mktemp("router")
    labels = tuple(f"{prefix}-{kind}" for kind in KINDS for prefix in "BIES")
    save_untrained(folder / "pages", name="page_labels", labels=labels)
    save_untrained(folder / "bills", fields={"date": {"many": True}, "total": {}})
    models = {"bills": str(folder / "bills"), "pages": str(folder / "pages")}
    return ServeSettings(
        str(folder / "pages"),
        models=models,
        routes={"bill": "bills", "deed": "pages"},
        follow_every_s=3600,
        limits=Limits(timeout_s=600),
    )


@pytest.fixture(scope="module")
def client(settings: ServeSettings) -> Iterator[TestClient]:
    with application(settings) as served, TestClient(served, base_url="http://127.0.0.1") as made:
        yield made


def shortened(number: int) -> dict[str, Any]:
    """The page with other words for each number, so that an untrained model guesses otherwise."""
    return {**PAGE, "words": PAGE["words"][number % 7 :: number % 5 + 1]}


def test_each_document_is_answered_by_the_model_of_its_kind(client: TestClient, settings: ServeSettings) -> None:
    body = {"pages": [*map(shortened, range(12)), BLANK]}
    answer = client.post("/v1/extract", json=body).json()
    packet = answer["packet"]
    assert [number for one in packet["documents"] for number in one["pages"]] == [*range(1, 13)]
    assert packet["other_pages"] == [{"page_number": 13, "role": "blank"}]
    assert (answer["document"]["entities"], answer["document"]["fields"]) == ([], [])

    sent = word_pages(httpx.Request("POST", "http://x", json=body).read(), Limits()).pages
    labels = {
        page.number: {one.type: one.confidence for one in found}
        for page, found in zip(sent, Extractor.load(settings.checkpoint).extract(sent), strict=True)
        if found
    }
    expected = split(sent, labels).documents
    bills = Extractor.load(settings.models["bills"])
    assert [(one["kind"], tuple(one["pages"])) for one in packet["documents"]] == [
        (one.kind, one.pages) for one in expected
    ]
    for one, found in zip(packet["documents"], expected, strict=True):
        assert one["confidence"] == pytest.approx(found.confidence, abs=1e-4)
        assert one["begin_confidence"] == pytest.approx(found.begin_confidence, abs=1e-4)
        if one["kind"] == "bill":
            fields = bills.answer_fields([sent[number - 1] for number in found.pages])
            assert [(field["name"], field["value"]) for field in one["document"]["fields"]] == [
                (field.name, field.value) for field in fields
            ]
            assert one["model_id"] == "bills"
        elif one["kind"] == "deed":
            assert one["error"]["code"] == "not_offered"
        else:
            assert one.keys() == {"kind", "pages", "confidence", "begin_confidence"}


def test_a_packet_of_blanks_holds_no_document(client: TestClient) -> None:
    answer = client.post("/v1/extract", json={"pages": [BLANK, BLANK]}).json()
    assert answer["packet"]["documents"] == []
    assert [one["role"] for one in answer["packet"]["other_pages"]] == ["blank", "blank"]
    assert answer["status"] == "success"


def test_other_models_answer_as_they_did(client: TestClient) -> None:
    answer = client.post("/v1/models/bills/extract", json={"pages": [PAGE]}).json()
    assert "packet" not in answer, answer
    assert answer["document"]["entities"], "an untrained model guesses"


def test_a_route_to_a_model_that_is_not_served_is_refused() -> None:
    with pytest.raises(InputError, match=r"routes name the models orders; the models with a name are none: give each"):
        ServeSettings("x", routes={"bill": "orders"})


@pytest.mark.parametrize(
    ("default", "routes", "problem"),
    [
        ("pages", {"bil": "bills"}, "routes name the kinds bil; the models find bill, deed, note"),
        ("bills", {"bill": "bills", "bil": "bills"}, "routes name the kinds bil; the models find bill, deed, note"),
        ("bills", {"deed": "pages"}, "routes name model pages of task page_labels, which extracts nothing"),
    ],
)
def test_a_route_that_cannot_be_taken_is_refused_before_the_start(
    settings: ServeSettings, default: str, routes: dict[str, str], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        deployment.path_of(replace(settings, checkpoint=settings.models[default], routes=routes), NO_REGISTRY)


def test_a_model_of_pages_that_mlflow_loads_splits_packets(settings: ServeSettings) -> None:
    loaded = Loader(CPU).load(Version(settings.checkpoint, ""))
    (answer,) = DocumentModel(loaded, Recognition()).predict(pd.DataFrame({"pages": [[PAGE, BLANK]]}))
    assert [one["pages"] for one in answer["packet"]["documents"]] == [[1]]
    assert answer["packet"]["other_pages"] == [{"page_number": 2, "role": "blank"}]
