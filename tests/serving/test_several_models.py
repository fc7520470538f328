"""Several models on one endpoint: each is loaded when a request asks for it, and is what the default model is."""

from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from layoutray.serving.submission import word_pages
from tests.cluster.running_endpoint import as_request, measured, refused, rendered
from tests.ocr.files import encoded

pytestmark = pytest.mark.ocr

BODY = as_request(*rendered())


@pytest.fixture
def few_pages(admin: httpx.Client, endpoint: ServeSettings) -> Iterator[httpx.Client]:
    """A client whose key has two pages per day."""
    store = KeyStore.open(endpoint.keys)
    name = f"few-{len(store.list())}"
    header = {"Authorization": f"Bearer {store.create(name, ['extract'], pages_per_day=2)}"}
    with httpx.Client(base_url=admin.base_url, headers=header, timeout=120) as client:
        yield client
    store.close()


def ask(client: httpx.Client, model: str) -> httpx.Response:
    return client.post(f"/v1/models/{model}/extract", json=BODY)


def found(checkpoint: str) -> Sequence[tuple[str, str]]:
    request = httpx.Request("POST", "http://endpoint", json=BODY)
    (entities,) = Extractor.load(checkpoint).extract(word_pages(request.read(), Limits()).pages)
    return [(entity.type, entity.content) for entity in entities]


def listed(answer: dict[str, Any]) -> Sequence[tuple[str, str]]:
    return [(entity["type"], entity["content"]) for entity in answer["document"]["entities"]]


def test_each_model_answers_at_its_path_though_there_is_room_for_one(
    admin: httpx.Client, endpoint: ServeSettings
) -> None:
    for name in ("invoices", "orders", "invoices"):
        response = ask(admin, name)
        assert response.status_code == 200, response.text
        answer = response.json()
        assert answer["model_id"] == name
        assert listed(answer) == found(endpoint.models[name])
    assert found(endpoint.models["invoices"]) != found(endpoint.models["orders"]), "a mixed answer would show"
    assert listed(admin.post("/v1/extract", json=BODY).json()) == found(endpoint.checkpoint)


def test_files_are_read_for_each_model(admin: httpx.Client) -> None:
    files = {"file": ("page.png", encoded(rendered()[0], "PNG"))}
    default, invoices = (admin.post(path, files=files, params={"words": True}).json() for path in PATHS)
    assert default["pages"] == invoices["pages"]
    assert (default["model_id"], invoices["model_id"]) == ("untrained", "invoices")


PATHS = "/v1/extract", "/v1/models/invoices/extract"


def test_models_are_listed_with_what_is_known_of_them(admin: httpx.Client) -> None:
    version = ask(admin, "invoices").json()["model_version"]
    default, invoices, _, damaged = admin.get("/v1/models").json()["models"]
    assert (default["model_id"], default["path"]) == ("untrained", "/v1/extract")
    assert invoices == {
        "model_id": "invoices",
        "model_version": version,
        "path": "/v1/models/invoices/extract",
        "entity_types": ["date", "total"],
        "tried_on": "a generated page",
    }
    assert (damaged["model_id"], damaged["path"]) == ("damaged", None)


def test_a_model_that_cannot_be_loaded_is_refused_and_the_others_go_on(admin: httpx.Client) -> None:
    response = ask(admin, "damaged")
    assert "CheckpointError" in refused(response, 503, "model_refused")
    assert measured(admin)['layoutray_versions_total{outcome="broken"}'] == 1
    refused(ask(admin, "damaged"), 503, "model_refused")
    assert measured(admin)['layoutray_versions_total{outcome="broken"}'] == 1, "it is not read again at once"
    health = admin.get("/healthz").json()
    assert health["models"]["damaged"]["refused"]["code"] == "broken"
    assert "refused" not in health
    assert ask(admin, "invoices").status_code == 200


@pytest.mark.parametrize("path", ["/v1/models/letters/extract", "/v1/jobs?model=letters"])
def test_a_model_that_there_is_not_is_named_with_those_that_there_are(admin: httpx.Client, path: str) -> None:
    files = {"file": ("page.png", encoded(rendered()[0], "PNG"))}
    message = refused(admin.post(path, files=files), 404, "unknown_model")
    assert message == "there is no model 'letters'; models with a name: invoices, orders, damaged"


def test_a_model_says_at_which_path_it_is(admin: httpx.Client) -> None:
    message = refused(admin.post("/v1/models/invoices/summarize", json={"text": "A text."}), 404, "not_offered")
    assert message == "model invoices is served at /v1/models/invoices/extract"


def test_a_job_names_its_model(admin: httpx.Client) -> None:
    files = {"file": ("page.png", encoded(rendered()[0], "PNG"))}
    header = {"Idempotency-Key": "named"}
    job = admin.post("/v1/jobs?model=invoices", files=files, headers=header).json()
    assert (job["model"], admin.get(f"/v1/jobs/{job['id']}").json()["model"]) == ("invoices", "invoices")
    refused(admin.post("/v1/jobs", files=files, headers=header), 409, "idempotency_conflict")
    assert admin.post("/v1/jobs", files=files).json()["model"] is None


def test_keys_and_quotas_hold_for_each_model(admin: httpx.Client, few_pages: httpx.Client) -> None:
    with httpx.Client(base_url=admin.base_url) as nobody:
        refused(ask(nobody, "invoices"), 401, "no_key")
    assert [ask(few_pages, name).status_code for name in ("invoices", "orders")] == [200, 200]
    refused(ask(few_pages, "invoices"), 429, "quota_exceeded")
    refused(few_pages.post("/v1/extract", json=BODY), 429, "quota_exceeded")


def test_metrics_tell_the_models_apart(admin: httpx.Client) -> None:
    version = ask(admin, "orders").json()["model_version"]
    labels = f'model="orders",version="{version}"'
    counts = measured(admin)
    assert counts[f"layoutray_documents_total{{{labels}}}"] >= 1
    assert counts[f"layoutray_model_version{{{labels}}}"] == 1


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a" * 65])
def test_a_name_that_fits_into_no_path_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name of a model"):
        ServeSettings("checkpoint", models={name: "other"})
