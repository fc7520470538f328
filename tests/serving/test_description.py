"""The OpenAPI document and the page that shows it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
from playwright.sync_api import expect

from layoutray.serving import examples
from tests.browser import chromium, opened
from tests.cluster.running_endpoint import refused

pytestmark = pytest.mark.ocr

# A schema cannot say that bytes are a picture, that a box lies on its page, or which prefixes and models there are.
SETTINGS = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", 404, 409, 413, 415, 422]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429]

[[operations]]
include-path = "/v1/jobs"
checks.positive_data_acceptance.expected-statuses = ["2xx", 403, 404, 409, 413, 415, 422]
"""


def test_the_endpoint_does_what_its_description_says(admin: httpx.Client, tmp_path: Path) -> None:
    """Schemathesis sends what the description allows, and what it does not."""
    (tmp_path / "settings.toml").write_text(SETTINGS)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(tmp_path / "settings.toml"), "run"]
    options = [f"{admin.base_url}/openapi.json", "--max-examples=10", "--phases=examples,coverage,fuzzing", "--seed=1"]
    options.append("--request-timeout=120")
    key = [f"--header=Authorization: {admin.headers['Authorization']}"]
    done = subprocess.run([*command, *options, *key], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:]


@pytest.mark.parametrize(("path", "allowed"), [("/v1/extract", "POST"), ("/v1/jobs/7", "DELETE, GET")])
def test_a_method_that_a_path_lacks_is_refused_with_those_it_has(admin: httpx.Client, path: str, allowed: str) -> None:
    response = admin.put(path)
    refused(response, 405, "method_not_allowed")
    assert response.headers["Allow"] == allowed


@pytest.mark.parametrize(
    "wrong", [{"width": "800"}, {"width": True}, {"words": [{"text": "a", "box": [0, 0, 0, False]}]}]
)
def test_a_number_is_no_text_and_no_truth_value(admin: httpx.Client, wrong: dict[str, Any]) -> None:
    page = {"width": 800, "height": 1130.0, "words": []}
    assert admin.post("/v1/extract", json={"pages": [page]}).status_code == 200
    refused(admin.post("/v1/extract", json={"pages": [page | wrong]}), 422, "invalid_request")


@pytest.fixture
def description(admin: httpx.Client) -> dict[str, Any]:
    return admin.get("/openapi.json").json()


def test_every_operation_is_in_a_section(description: dict[str, Any]) -> None:
    sections = {one["name"] for one in description["tags"]}
    tags = [operation.get("tags") for methods in description["paths"].values() for operation in methods.values()]
    assert all(one and {*one} <= sections for one in tags)
    assert sections == {name for one in tags for name in one}


def test_examples_are_shown_and_fit_their_schemas(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for body in examples.BODIES:
        schema = schemas[type(body).__name__]
        (example,) = schema["examples"]
        jsonschema.validate(example, {**schema, "components": {"schemas": schemas}}, jsonschema.Draft202012Validator)


def test_each_refusal_has_an_example(description: dict[str, Any]) -> None:
    responses = description["paths"]["/v1/extract"]["post"]["responses"]
    for status, response in responses.items():
        if status != "200":
            assert response["content"]["application/json"]["example"]["error"]["code"], status


@pytest.mark.browser
def test_the_page_needs_no_other_server(admin: httpx.Client) -> None:
    with chromium() as browser, opened(browser, str(admin.base_url)) as page:
        page.set_default_timeout(60_000)  # a busy machine takes long to read the script of Swagger UI
        problems: list[str] = []
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.goto("/docs")
        page.locator("#operations-documents-extract_v1_extract_post button.opblock-summary-control").click()
        page.get_by_label("Request content type").select_option("application/json")
        page.get_by_role("button", name="Try it out").click()
        expect(page.locator("textarea")).to_have_value(re.compile("TOTAL"), timeout=60_000)
        assert problems == []
        page.get_by_role("button", name="Execute").click()
        page.get_by_text("no_key").first.wait_for()
