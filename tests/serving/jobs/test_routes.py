"""Submissions of jobs in this process: prefixes of a real S3 server, webhooks, and a disk that is really full."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from fastapi.testclient import TestClient

from benchmarks.measure.object_store import listed_store, object_store
from layoutray.errors import ApiError
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.records import WaitingDocument
from layoutray.serving.jobs.runner import read_document
from layoutray.serving.limits import Limits
from layoutray.serving.submission import UploadedFile
from tests.cluster.running_endpoint import refused
from tests.serving.job_client import job_client
from tests.serving.small_disk import SmallDisk, small_disk

if TYPE_CHECKING:
    from tests.postgresql import Server

LIMITS = Limits(max_waiting_documents=20)
NO_FOLDERS = """
    s3://inbox/in/../secret.png s3://inbox/in/%2e%2e/secret.png s3://inbox/in//a s3://inbox/in/.hidden s3://inbox/in/./a
    s3://inbox/in?endpoint_override=http://127.0.0.1 /etc/passwd file:///etc/passwd gs://scans/in s3:// in
    s3://inbox/in/%ff s3://inbox/in/%00 s3://inbox/in/a%0Ab data:,x
"""
PREFIXES = ("s3://inbox/in", "s3://inbox/two%20words/")


@pytest.fixture(scope="module")
def bucket() -> Iterator[None]:
    """A bucket of four objects, of which two are below the allowed prefixes."""
    with object_store("inbox"):
        objects = boto3.resource("s3").Bucket("inbox")
        for key in ("in/b/ä 1.png", "in/a.png", "in-secret/c.png", "secret.png"):
            objects.put_object(Key=key, Body=b"content")
        objects.put_object(Key="two words", Body=b"an object with the name of an allowed folder")
        yield


@pytest.fixture
def client(ledger: Ledger) -> TestClient:
    return job_client(ledger, LIMITS, prefixes=PREFIXES, hosts=["hooks.example.com"])


def sent(client: TestClient, prefix: Any, **more: Any) -> Any:
    return client.post("/v1/jobs", json={"prefix": prefix}, **more)


@pytest.mark.usefixtures("bucket")
def test_a_prefix_is_a_job_of_its_objects_which_are_not_read_yet(client: TestClient, ledger: Ledger) -> None:
    response = sent(client, "s3://inbox/in/")
    assert (response.status_code, response.json()["files"], response.json()["unopened"]) == (202, 2, 2)
    document = ledger.next((), "")
    assert document is not None
    assert (document.address, document.name, document.data) == ("s3://inbox/in/a.png", "s3://inbox/in/a.png", b"")
    ledger.finish(document, "failed", {})
    second = ledger.next((), "")
    assert second is not None
    assert second.address == "s3://inbox/in/b/%C3%A4%201.png"


def read(address: str, content: str = "", most: int = 100) -> UploadedFile:
    options: dict[str, Any] = {"words": False}
    document = WaitingDocument(
        number=1,
        job="job",
        owner="",
        content=content,
        address=address,
        name=address,
        data=b"",
        pages=None,
        starts=0,
        options=options,
    )
    return read_document(document, most)


@pytest.mark.usefixtures("bucket")
def test_an_object_that_is_not_there_or_is_too_large_or_has_changed_fails_with_its_reason() -> None:
    file = read("s3://inbox/in/b/%C3%A4%201.png")
    assert (file.data, file.doc_id) == (b"content", hashlib.sha256(b"content").hexdigest())
    assert read("s3://inbox/in/a.png", file.doc_id).data == b"content"
    for address, content, most, status, code in (
        ("s3://inbox/in/none.png", "", 100, 422, "not_found"),
        ("s3://none/in/a.png", "", 100, 422, "not_found"),
        ("s3://inbox/in/a.png", "", 6, 413, "too_large"),
        ("s3://inbox/in/a.png", "other", 100, 422, "changed"),
    ):
        with pytest.raises(ApiError) as caught:
            read(address, content, most)
        assert (caught.value.status, caught.value.code) == (status, code)


def test_an_object_of_a_store_that_does_not_answer_is_tried_again() -> None:
    with object_store("inbox"), pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        with pytest.raises(ApiError) as caught:
            read("s3://inbox/in/a.png")
    assert (caught.value.status, caught.value.retryable) == (503, True)


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("prefix", ["s3://inbox", "s3://inbox/in-secret", "s3://inbox/secret.png", "s3://other/in"])
def test_a_prefix_that_the_operator_does_not_allow_is_refused(client: TestClient, prefix: str) -> None:
    refused(sent(client, prefix), 403, "prefix_not_allowed")


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize(
    "prefix", [*NO_FOLDERS.split(), "s3://inbox/in/a b", "s3://inbox/in/\u0000", "s3://inbox/in/%00"]
)
def test_a_prefix_that_is_no_address_of_a_folder_is_refused(client: TestClient, prefix: str) -> None:
    assert "must be an address s3://BUCKET/PATH" in refused(sent(client, prefix), 422, "invalid_request")


@pytest.mark.usefixtures("bucket")
def test_a_prefix_without_objects_is_refused(client: TestClient) -> None:
    assert "no object below" in refused(sent(client, "s3://inbox/in/none"), 400, "no_file")
    refused(sent(client, "s3://inbox/two%20words"), 400, "no_file")


def test_a_prefix_with_too_many_objects_is_refused_after_a_part_of_its_listing(ledger: Ledger) -> None:
    with listed_store(5_000_000) as prefix:
        client = job_client(ledger, LIMITS, prefixes=[prefix])
        message = refused(sent(client, prefix), 413, "too_large")
    assert "more than the allowed 20 objects" in message
    assert ledger.next((), "") is None


def test_a_bucket_that_cannot_be_listed_is_unavailable(ledger: Ledger) -> None:
    with object_store("inbox"):
        client = job_client(ledger, LIMITS, prefixes=["s3://none/in"])
        response = sent(client, "s3://none/in")
    assert "cannot be listed now" in refused(response, 503, "unavailable")
    assert response.headers["Retry-After"]


@pytest.mark.parametrize("body", [{}, {"prefix": 1}, {"prefix": ""}, {"prefix": "s3://inbox/in", "other": 1}, []])
def test_json_that_makes_no_job_is_refused(client: TestClient, body: Any) -> None:
    refused(client.post("/v1/jobs", json=body), 422, "invalid_request")


def test_json_that_is_none_or_too_long_is_refused(client: TestClient) -> None:
    kind = {"Content-Type": "application/json"}
    refused(client.post("/v1/jobs", content=b"{", headers=kind), 400, "malformed_request")
    refused(client.post("/v1/jobs", content=b" " * 70_000, headers=kind), 413, "too_large")


@pytest.mark.usefixtures("bucket")
def test_a_prefix_that_is_sent_again_gives_the_same_job_though_the_bucket_has_changed(client: TestClient) -> None:
    key = {"Idempotency-Key": "order 1"}
    first = sent(client, "s3://inbox/in", headers=key)
    new = boto3.resource("s3").Bucket("inbox").put_object(Key="in/new.png", Body=b"new")
    again = sent(client, "s3://inbox/in", headers=key)
    new.delete()
    assert (again.status_code, again.json()["id"], again.json()["files"]) == (200, first.json()["id"], 2)
    refused(sent(client, "s3://inbox/in/b", headers=key), 409, "idempotency_conflict")


def test_a_webhook_of_a_host_that_is_not_allowed_makes_no_job(client: TestClient, ledger: Ledger) -> None:
    for url in ("https://evil.example.org/", "http://169.254.169.254/latest/meta-data", "file:///etc/passwd"):
        response = client.post("/v1/jobs", files=[("file", ("a", b"x"))], data={"webhook": url})
        assert "webhook: " in refused(response, 422, "invalid_request")
        refused(client.post("/v1/jobs", json={"prefix": "s3://inbox/in", "webhook": url}), 422, "invalid_request")
    two = {"webhook": ["https://hooks.example.com/1", "https://hooks.example.com/2"]}
    refused(client.post("/v1/jobs", files=[("file", ("a", b"x"))], data=two), 400, "malformed_request")
    assert ledger.next((), "") is None


def test_the_webhook_of_a_job_is_shown_with_its_history(client: TestClient) -> None:
    def send(key: str, url: str | None) -> Any:
        data = {"webhook": url} if url else {}
        return client.post("/v1/jobs", files=[("file", ("a", b"x"))], data=data, headers={"Idempotency-Key": key})

    job = send("1", "https://hooks.example.com/jobs").json()["id"]
    shown = client.get(f"/v1/jobs/{job}/deliveries").json()
    assert shown == {"url": "https://hooks.example.com/jobs", "state": "waiting", "next": None, "deliveries": []}
    client.post(f"/v1/jobs/{job}/cancel")
    assert client.get(f"/v1/jobs/{job}/deliveries").json()["next"] is not None
    refused(send("1", "https://hooks.example.com/other"), 409, "idempotency_conflict")
    without = send("2", None).json()["id"]
    assert "has no webhook" in refused(client.get(f"/v1/jobs/{without}/deliveries"), 404, "not_found")
    refused(client.get("/v1/jobs/none/deliveries"), 404, "not_found")


def test_the_secret_stays_until_it_is_replaced(client: TestClient) -> None:
    first = client.get("/v1/webhook-secret").json()["secret"]
    assert client.get("/v1/webhook-secret").json()["secret"] == first
    other = client.post("/v1/webhook-secret").json()["secret"]
    assert client.get("/v1/webhook-secret").json()["secret"] == other != first


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


def full(response: Any) -> None:
    assert "a disk of the endpoint is full" in refused(response, 503, "no_space")
    assert response.headers["Retry-After"]


def test_an_upload_to_a_full_disk_is_refused_and_accepted_once_there_is_room(
    ledger: Ledger, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = job_client(ledger, LIMITS)
    monkeypatch.setattr(tempfile, "tempdir", str(disk.folder))
    files = [("file", ("a.png", os.urandom(2**21)))]
    disk.fill()
    full(client.post("/v1/jobs", files=files))
    assert ledger.next((), "") is None
    disk.make_room()
    assert client.post("/v1/jobs", files=files).status_code == 202


@pytest.fixture(params=["sqlite", "postgresql"])
def on_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Ledger, SmallDisk]]:
    """A ledger on a small disk."""
    if request.param == "sqlite":
        with small_disk(tmp_path / "disk") as disk, closing(Ledger.open(str(disk.folder / "jobs.db"))) as ledger:
            yield ledger, disk
    else:
        server: Server = request.getfixturevalue("postgresql_server")
        with (
            small_disk(server.folder / "disk") as disk,
            server.tablespace(disk.folder) as address,
            closing(Ledger.open(address)) as ledger,
        ):
            yield ledger, disk


def test_a_ledger_on_a_full_disk_refuses_jobs_and_takes_them_once_there_is_room(
    on_disk: tuple[Ledger, SmallDisk],
) -> None:
    ledger, disk = on_disk
    client = job_client(ledger, LIMITS)
    files = [("file", ("a.png", os.urandom(2**19)))]
    accepted = client.post("/v1/jobs", files=files).json()["id"]
    disk.fill()
    for _ in range(3):
        full(client.post("/v1/jobs", files=files))
    assert client.get(f"/v1/jobs/{accepted}").json()["state"] == "running", "what was accepted is there"
    refused_or_done = client.delete(f"/v1/jobs/{accepted}").status_code
    assert refused_or_done in (204, 503)
    disk.make_room()
    assert client.post("/v1/jobs", files=files).status_code == 202
    if (disk.folder / "jobs.db").exists():
        assert ledger.database.rows("PRAGMA integrity_check")[0]["integrity_check"] == "ok"
    assert (client.get(f"/v1/jobs/{accepted}").status_code == 404) == (refused_or_done == 204)


def test_the_character_nul_is_in_no_name_and_no_id(client: TestClient) -> None:
    files = [("file", ("a.png", b"x")), ("file", ("b\0.png", b"y"))]
    boundary = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n' % (name.encode(), data)
        for _, (name, data) in files
    )
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    response = client.post("/v1/jobs", content=boundary + b"--b--\r\n", headers=kind)
    assert "file 1: its name has the character NUL" in refused(response, 422, "invalid_request")
    for path in ("", "/results", "/deliveries"):
        refused(client.get(f"/v1/jobs/%00{path}"), 404, "not_found")
    refused(
        client.post("/v1/jobs", files=files[:1], data={"webhook": "https://hooks.example.com/\0"}),
        422,
        "invalid_request",
    )


def test_jobs_that_are_submitted_together_keep_the_limit_of_waiting_documents(ledger: Ledger) -> None:
    client = job_client(ledger, LIMITS)

    def submit(number: int) -> Any:
        return client.post("/v1/jobs", files=[("file", (f"{at}.png", b"%d %d" % (number, at))) for at in range(8)])

    with ThreadPoolExecutor(4) as threads:
        responses = list(threads.map(submit, range(4)))
    assert sorted(response.status_code for response in responses) == [202, 202, 503, 503]
    for response in responses:
        if response.status_code == 503:
            message = "16 documents of your jobs wait; with these 8 they would be more than the allowed 20"
            assert message in response.text
