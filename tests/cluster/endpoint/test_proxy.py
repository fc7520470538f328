"""Headers that Serve could not read are refused."""

from collections.abc import Iterator

import httpx
import pytest
from fastapi import FastAPI

from layoutray.cluster.endpoint.proxy import HeaderCheck
from tests.browser import listening
from tests.cluster.running_endpoint import refused


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    api = FastAPI()
    api.add_api_route("/", lambda: "answered")
    with listening(HeaderCheck(api)) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


@pytest.mark.parametrize("given", ["", "two words", "a" * 129, "ä", "tab\tulator"])
def test_an_id_that_is_none_is_refused(client: httpx.Client, given: str) -> None:
    response = client.get("/", headers={"X-Request-Id": given.encode()})
    assert f"X-Request-Id has {len(given.encode())} characters" in refused(response, 400, "malformed_request")


def test_a_header_that_is_not_utf_8_is_refused(client: httpx.Client) -> None:
    response = client.get("/", headers={"X-Session-Id": b"\xe4"})
    assert "header x-session-id is not UTF-8" in refused(response, 400, "malformed_request")


@pytest.mark.parametrize("given", ["7", "order-7/a", "~" * 128])
def test_other_requests_pass(client: httpx.Client, given: str) -> None:
    assert client.get("/", headers={"X-Request-Id": given, "X-Name": "Zoë".encode()}).json() == "answered"
