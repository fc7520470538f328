"""An endpoint or review page without keys: what pages of other sites send is refused, on every path."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from layoutray.cli.work.review import local_app
from layoutray.review.store import ReviewStore
from layoutray.serving.settings import ServeSettings
from tests.cluster.running_endpoint import refused
from tests.serving.in_process import application

LOCAL = ["127.0.0.1", "127.0.0.1:8000", "localhost:8000", "[::1]:8000", "127.8.9.1"]
FOREIGN = ["rebind.evil.example", "127.0.0.1.evil.example:8000", "localhost.evil.example", "evil@127.0.0.1.example"]
FOREIGN += ["10.0.0.7", "[::ffff:10.0.0.7]", "[::1", "0.0.0.0", "localhost."]
PATHS = ["/", "/livez", "/metrics", "/docs", "/v1/models", "/v1/jobs/x", "/review/session", "/unknown"]


@pytest.fixture(scope="module", params=["serve", "review"])
def client(
    request: pytest.FixtureRequest, endpoint: ServeSettings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("local_only")
    file = str(folder / "review.db")
    if request.param == "review":
        yield TestClient(local_app(ReviewStore.open(file), "anna", str(folder)), base_url="http://127.0.0.1")
        return
    settings = replace(endpoint, keys="", models={}, review=file, jobs=str(folder / "jobs.db"))
    with application(settings) as app:
        yield TestClient(app, base_url="http://127.0.0.1")


@pytest.mark.parametrize("path", PATHS)
def test_hosts_of_other_machines_are_refused(client: TestClient, path: str) -> None:
    for host in FOREIGN:
        refused(client.get(path, headers={"Host": host}), 400, "malformed_request")
    for host in LOCAL:
        assert client.get(path, headers={"Host": host}).status_code != 400


@pytest.mark.parametrize("path", ["/v1/webhook-secret", "/v1/jobs", "/review/session"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:3000", "127.0.0.1", ""])
def test_pages_of_other_sites_are_refused(client: TestClient, path: str, origin: str) -> None:
    refused(client.post(path, headers={"Origin": origin}), 403, "foreign_origin")
    assert client.post(path, headers={"Origin": "http://127.0.0.1"}).status_code != 403


@pytest.mark.parametrize("path", ["/v1/extract/", "/livez/", "/review", "/review/documents/", "/v1/models/"])
def test_nothing_redirects_to_the_host_that_a_client_names(client: TestClient, path: str) -> None:
    for method in ("GET", "POST"):
        response = client.request(method, path, follow_redirects=False)
        assert "location" not in response.headers
        assert response.status_code < 300 or response.status_code >= 400


def test_an_endpoint_with_keys_may_have_any_name(endpoint: ServeSettings) -> None:
    with application(endpoint) as app:
        response = TestClient(app, base_url="https://layoutray.example.com").get("/livez")
    assert response.status_code == 200
