"""A served model that answers the fields that a request names."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from layoutray import checkpoint
from layoutray.cluster.endpoint.replicas import PageRequest, _extract
from layoutray.devices import CPU
from layoutray.document.field_type import FieldType
from layoutray.inference.by_name import NamedExtractor, named
from layoutray.inference.extractor import Extractor
from layoutray.serving.jobs import ledger_loop
from layoutray.serving.model import Version
from layoutray.serving.settings import ServeSettings
from layoutray.tasks.field_names import asked_fields
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import as_request, refused, rendered
from tests.jobs import pages
from tests.ocr.files import pdf, typed
from tests.serving.in_process import application, processing

QUESTION = "vendor, due date, total:amount"
TEXTS = "vendor:text,order"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    save_untrained(folder, name="fields_by_name")
    return folder


@pytest.fixture(scope="module")
def client(start: Path) -> Iterator[TestClient]:
    with application(ServeSettings(str(start))) as served, TestClient(served, base_url="http://127.0.0.1") as made:
        yield made


def test_a_request_names_the_fields_that_are_answered(client: TestClient, start: Path) -> None:
    body = as_request(*rendered())
    answer = client.post("/v1/extract", params={"fields": TEXTS}, json=body).json()
    wanted = asked_fields(TEXTS)
    expected = Extractor(named(checkpoint.load(start), wanted), "m", CPU)
    assert {one["type"] for one in answer["document"]["entities"]} <= {"vendor", "order"}
    assert [field["name"] for field in answer["document"]["fields"]] == sorted(
        {one["type"] for one in answer["document"]["entities"]}, key=list(wanted).index
    )
    assert answer["document"]["fields"], "an untrained model guesses"
    assert answer["model_version"] == expected.model_version


def test_requests_of_one_batch_may_name_different_fields(start: Path) -> None:
    loaded = checkpoint.load(start)
    questions = [{"vendor": FieldType()}, {"order": FieldType(), "total": FieldType()}, {"vendor": FieldType()}]
    requests = [
        PageRequest(Version("start", ""), page, fields) for page, fields in zip(pages(3), questions, strict=True)
    ]
    found = [one.entities for one in _extract(NamedExtractor(loaded, "m", CPU), requests)]
    alone = [Extractor(named(loaded, one.fields), "m", CPU).extract([one.page])[0] for one in requests]
    assert [[entity.words for entity in of_page] for of_page in found] == [
        [entity.words for entity in of_page] for of_page in alone
    ]
    assert [
        {entity.type for entity in of_page} <= set(fields) for of_page, fields in zip(found, questions, strict=True)
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("", "fields: 0 fields are named; name 1 to 64, for example `vendor, date, total`"),
        ("total:money", "fields: the field 'total' has the type 'money'"),
    ],
)
def test_names_that_cannot_be_read_are_refused(client: TestClient, fields: str, message: str) -> None:
    response = client.post("/v1/extract", params={"fields": fields}, json=as_request(*rendered()))
    assert refused(response, 422, "invalid_request").startswith(message)  # pyright: ignore[reportArgumentType]


def test_a_model_with_fields_of_its_own_takes_no_names(tmp_path: Path) -> None:
    save_untrained(tmp_path, fields={"total": {}})
    with application(ServeSettings(str(tmp_path))) as served, TestClient(served, base_url="http://127.0.0.1") as client:
        response = client.post("/v1/extract?fields=total", json=as_request(*rendered()))
        message = refused(response, 422, "invalid_request")  # pyright: ignore[reportArgumentType]
        assert message.startswith("fields: untrained answers fields of its own (total); leave `fields` out")


def test_a_job_names_the_fields_of_its_documents(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_loop, "_LOOK_SECONDS", 0.1)
    files = {"file": ("a.pdf", pdf(typed("Order 17 of Muster Ltd", x=20, y=700)))}
    with processing(ServeSettings(str(start), jobs=str(tmp_path / "jobs.db"))) as client:
        refused(client.post("/v1/jobs?fields=total:money", files=files), 422, "invalid_request")  # pyright: ignore[reportArgumentType]
        job = client.post("/v1/jobs", params={"fields": TEXTS}, files=files).json()["id"]
        until = time.monotonic() + 120
        while not (lines := client.get(f"/v1/jobs/{job}/results").text.splitlines()):
            assert time.monotonic() < until
            time.sleep(0.1)
    answer = json.loads(lines[0])["answer"]
    assert {one["type"] for one in answer["document"]["entities"]} <= {"vendor", "order"}
    assert answer["document"]["fields"], "an untrained model guesses"


def test_it_is_ready_and_listed_before_a_field_is_named(client: TestClient) -> None:
    assert client.get("/readyz").status_code == 200
    assert client.get("/v1/models").json()["models"][0]["entity_types"] == []
