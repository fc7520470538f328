"""Jobs over real HTTP: real Ray Serve, real OCR, a real (untrained) model, and processes that are killed."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import boto3
import httpx
import psutil
import pytest
from PIL import Image

from layoutray.ocr.settings import Recognition
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings
from layoutray.synthetic.render import render_page
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import refused, serving
from tests.cluster.shared_ray import free_port
from tests.cluster.two_nodes import marked
from tests.ocr.files import encoded, pdf, typed
from tests.serving.receiver import receiving

pytestmark = [pytest.mark.ray, pytest.mark.ocr]

MAX_UPLOAD = 2**20
VICTIMS = ("ServeReplica:layoutray:PageReader", "ServeReplica:layoutray:ModelReplica", "ServeReplica:layoutray:Ingress")
_PATIENCE = 600.0
"""Seconds for a job to end. On a busy machine the start of a killed replica takes minutes."""
File = tuple[str, tuple[str, bytes]]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    folder = tmp_path_factory.mktemp("serve_jobs")
    save_untrained(folder / "checkpoint", fields={"date": {"many": True}, "total": {}})
    KeyStore.open(str(folder / "keys.db"), create=True).close()
    limits = Limits(max_upload_bytes=MAX_UPLOAD, max_pages=3, max_job_files=50, max_waiting_documents=60)
    return ServeSettings(
        str(folder / "checkpoint"),
        recognition=Recognition(profile="fast"),
        limits=limits,
        cpus_per_replica=0.2,
        port=free_port(),
        keys=str(folder / "keys.db"),
        audit=str(folder / "audit.jsonl"),
        jobs=str(folder / "jobs.db"),
        job_prefixes=("s3://scans/jobs",),
        webhook_hosts=("127.0.0.1",),
        webhook_networks=("127.0.0.0/8",),
    )


@pytest.fixture(scope="module")
def store(settings: ServeSettings) -> KeyStore:
    return KeyStore.open(settings.keys)


@pytest.fixture(scope="module")
def client(settings: ServeSettings, store: KeyStore, cluster_to_harm: None) -> Iterator[httpx.Client]:
    with serving(settings) as client:
        client.headers["Authorization"] = f"Bearer {store.create('owner', ['jobs', 'extract'])}"
        yield client


def pages(*seeds: object) -> list[File]:
    """A form with a picture for each seed."""
    return [("file", (f"../{seed}/page.png", encoded(render_page(Random(str(seed)))[0], "PNG"))) for seed in seeds]


def submitted(client: httpx.Client, files: Sequence[File], **more: Any) -> dict[str, Any]:
    response = client.post("/v1/jobs", files=files, **more)
    assert response.status_code in (200, 202), response.text
    assert response.headers["Location"] == f"/v1/jobs/{response.json()['id']}"
    return response.json()


def ended(
    client: httpx.Client, job: str, meanwhile: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """The status of a job once it has ended. While the ingress is dead, nobody answers."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            response = client.get(f"/v1/jobs/{job}")
        except httpx.TransportError:
            continue
        assert response.status_code != 404, response.text
        if response.status_code == 200:
            if response.json()["state"] != "running":
                return response.json()
            meanwhile(response.json())
        time.sleep(0.2)
    raise AssertionError(f"job {job} did not end")


def results(client: httpx.Client, job: str, **parameters: int) -> list[dict[str, Any]]:
    response = client.get(f"/v1/jobs/{job}/results", params=parameters)
    assert response.headers["Content-Type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_job_answers_each_file_as_the_endpoint_would_or_says_why_not(client: httpx.Client) -> None:
    bad: list[File] = [("file", ("empty.png", b"")), ("file", ("long.pdf", pdf(*[typed("x", x=9, y=9)] * 4)))]
    two: File = ("file", ("two.pdf", pdf(typed("total 5", x=9, y=9), typed("cash 7", x=9, y=9))))
    files = [*pages("first"), *bad, two, *pages("first")]
    job = submitted(client, files)
    assert (job["files"], sum(job["documents"].values())) == (5, 4), "equal files are one document"
    status = ended(client, job["id"])
    assert (status["state"], status["pages"], status["unopened"]) == ("done", {"done": 3, "left": 0}, 0)
    assert status["documents"] == {"waiting": 0, "answered": 2, "failed": 2, "cancelled": 0}
    lines = {line["position"]: line for line in results(client, job["id"])}
    assert [lines[position]["file"] for position in range(5)] == [name for _, (name, _) in files]
    assert [lines[position].get("error", {}).get("code") for position in (1, 2)] == ["empty_file", "too_large"]
    assert lines[0]["answer"] == lines[4]["answer"]
    assert "words" not in lines[0]["answer"]["pages"][0]
    for position in (0, 3):
        alone = client.post("/v1/extract", files=[files[position]]).json()
        assert lines[position]["answer"]["document"] == alone["document"]
        assert lines[position]["answer"]["model_version"] == alone["model_version"]


def test_a_file_fails_with_the_error_that_the_endpoint_gives_for_it(client: httpx.Client) -> None:
    whole, words = pages("whole")[0][1][1], typed("x", x=9, y=9)
    bad = [b"", whole[: len(whole) // 2], pdf(words)[:60], encoded(Image.new("1", (20_000, 20_000)), "PNG"), b"GIF89a"]
    files: list[File] = [("file", (f"{at}", data)) for at, data in enumerate([*bad, pdf(*[words] * 4), b"\0" * 9])]
    job = submitted(client, files)["id"]
    assert ended(client, job)["documents"] == {"waiting": 0, "answered": 0, "failed": len(files), "cancelled": 0}
    lines = {line["position"]: line["error"] for line in results(client, job)}
    alone = [client.post("/v1/extract", files=[file]).json()["error"] for file in files]
    assert [lines[position] for position in range(len(files))] == alone


def test_pages_have_results_of_their_own_and_the_end_is_told(client: httpx.Client) -> None:
    two: File = ("file", ("two.pdf", pdf(typed("total 5", x=9, y=9), typed("cash 7", x=9, y=9))))
    with receiving() as receiver:
        job = submitted(client, [two, *pages("told")], data={"webhook": receiver.url})["id"]
        ended(client, job)
        receiver.until(1)
    assert json.loads(receiver.received[0].body)["data"] == client.get(f"/v1/jobs/{job}").json()
    by_page = results(client, job, pages=1)
    assert sorted((line["file"], line["page_number"]) for line in by_page) == [
        (pages("told")[0][1][0], 1),
        ("two.pdf", 1),
        ("two.pdf", 2),
    ]
    for line in results(client, job):
        own = [page for page in by_page if page["file"] == line["file"]]
        entities = [entity for page in sorted(own, key=lambda page: page["page_number"]) for entity in page["entities"]]
        assert entities == line["answer"]["document"]["entities"]
        assert {page["model_version"] for page in own} == {line["answer"]["model_version"]}
    assert results(client, job, pages=1, after=by_page[0]["number"]) == by_page[1:]


def test_a_job_of_a_bucket_answers_equal_objects_once(client: httpx.Client, settings: ServeSettings) -> None:
    bucket = boto3.resource("s3").Bucket("scans")
    page = pages("object")[0][1][1]
    for key, data in {
        "a.png": page,
        "copy/a.png": page,
        "b.png": b"no picture",
        "c.png": bytes(MAX_UPLOAD + 1),
    }.items():
        bucket.put_object(Key=f"jobs/{key}", Body=data)
    response = client.post("/v1/jobs", json={"prefix": "s3://scans/jobs"})
    assert (response.status_code, response.json()["files"]) == (202, 4), response.text
    status = ended(client, response.json()["id"])
    assert status["documents"] == {"waiting": 0, "answered": 2, "failed": 2, "cancelled": 0}
    lines = {line["file"].removeprefix("s3://scans/jobs/"): line for line in results(client, status["id"])}
    codes = {file: line.get("error", {}).get("code") for file, line in lines.items()}
    assert codes == {"a.png": None, "copy/a.png": None, "b.png": "unsupported_type", "c.png": "too_large"}
    first, second = lines["a.png"]["answer"], lines["copy/a.png"]["answer"]
    assert (
        first["document"] == second["document"] == client.post("/v1/extract", files=pages("object")).json()["document"]
    )
    assert second["timings"]["ocr_ms"] == first["timings"]["ocr_ms"], "it has the pages of the first one"
    assert len(results(client, status["id"], pages=1)) == 2, "one page, and a line for each of its files"


def test_a_submission_that_is_repeated_gives_the_same_job(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "order 7"}
    first = submitted(client, pages("again"), headers=key)
    assert client.post("/v1/jobs", files=pages("again"), headers=key).status_code == 200
    assert submitted(client, pages("again"), headers=key)["id"] == first["id"]
    refused(client.post("/v1/jobs", files=pages("other"), headers=key), 409, "idempotency_conflict")
    refused(client.post("/v1/jobs?words=true", files=pages("again"), headers=key), 409, "idempotency_conflict")
    ended(client, first["id"])
    assert len(results(client, first["id"])) == 1


def test_submissions_that_make_no_job_are_refused(client: httpx.Client) -> None:
    def send(files: Any = None, **more: Any) -> httpx.Response:
        return client.post("/v1/jobs", files=files, **more)

    refused(send(), 415, "unsupported_type")
    refused(send(json={"pages": []}), 422, "invalid_request")
    assert "the fields other" in refused(send({"other": ("a", b"x")}), 400, "malformed_request")
    refused(send(files={"file": ("a", b"x")}, data={"file": "text"}), 400, "malformed_request")
    refused(send(content=b"--x", headers={"Content-Type": "multipart/form-data; boundary=y"}), 400, "malformed_request")
    assert "50" in refused(send([("file", ("a", b"x"))] * 51), 400, "malformed_request")
    refused(send({"file": ("a", bytes(MAX_UPLOAD + 1))}), 413, "too_large")
    refused(send({"file": ("a" * 2000, b"x")}), 422, "invalid_request")
    refused(send(pages("a"), headers={"Idempotency-Key": "a" * 256}), 422, "invalid_request")
    refused(client.get("/v1/jobs/..%2f..%2fetc"), 404, "not_found")
    refused(client.get("/v1/jobs/x/results?after=-1"), 422, "invalid_request")


def test_a_deleted_job_stays_deleted_though_its_documents_are_in_progress(
    client: httpx.Client, settings: ServeSettings
) -> None:
    job = submitted(client, pages(*range(100, 105)))["id"]
    assert client.delete(f"/v1/jobs/{job}").status_code == 204
    refused(client.delete(f"/v1/jobs/{job}"), 404, "not_found")
    ended(client, submitted(client, pages("behind"))["id"])
    for path in ("", "/results"):
        refused(client.get(f"/v1/jobs/{job}{path}"), 404, "not_found")
    refused(client.post(f"/v1/jobs/{job}/cancel"), 404, "not_found")
    assert job.encode() not in Path(settings.jobs).read_bytes()


def test_a_cancelled_job_keeps_its_results(client: httpx.Client) -> None:
    job = submitted(client, pages(*range(200, 210)))["id"]

    def cancel(status: dict[str, Any]) -> None:
        if status["documents"]["answered"]:
            client.post(f"/v1/jobs/{job}/cancel")

    status = ended(client, job, cancel)
    assert status["state"] == "cancelled"
    assert status["documents"]["cancelled"] > 0
    assert client.post(f"/v1/jobs/{job}/cancel").json() == status
    assert len(results(client, job)) == status["documents"]["answered"] > 0


def test_a_job_is_seen_by_its_owner_and_by_admins_only(client: httpx.Client, store: KeyStore) -> None:
    job = submitted(client, pages("mine"))["id"]
    other, admin, reader = (
        {"Authorization": f"Bearer {store.create(name, [scope])}"}
        for name, scope in (("other", "jobs"), ("admin", "admin"), ("reader", "extract"))
    )
    refused(client.get(f"/v1/jobs/{job}", headers=other), 404, "not_found")
    refused(client.delete(f"/v1/jobs/{job}", headers=other), 404, "not_found")
    refused(client.post("/v1/jobs", files=pages("x"), headers=reader), 403, "missing_scope")
    refused(client.get(f"/v1/jobs/{job}", headers={"Authorization": "Bearer x"}), 401, "invalid_key")
    assert client.get(f"/v1/jobs/{job}", headers=admin).status_code == 200
    ended(client, job)


def test_pages_of_jobs_count_and_documents_beyond_the_quota_fail(client: httpx.Client, store: KeyStore) -> None:
    owner = {"Authorization": f"Bearer {store.create('small', ['jobs'], pages_per_day=2)}"}
    with httpx.Client(base_url=client.base_url, headers=owner, timeout=120) as small:
        job = submitted(small, pages(300, 301, 302))["id"]
        ended(small, job)
        codes = [line.get("error", {}).get("code") for line in results(small, job)]
    assert Counter(codes) == {None: 2, "quota_exceeded": 1}


def kill(victim: str) -> None:
    """kill -9 of a replica, as soon as there is one."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if found := marked(psutil.Process().children(recursive=True), victim):
            found[0].kill()
            return
        time.sleep(0.1)
    raise AssertionError(f"there is no process {victim}")


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_every_document_is_answered_once_whatever_is_killed(client: httpx.Client, settings: ServeSettings) -> None:
    files, victims = pages(*range(400, 412)), list(VICTIMS)
    before = len(Path(settings.audit).read_text().splitlines())
    key = {"Idempotency-Key": "killed"}
    job = submitted(client, files, headers=key)["id"]

    def kill_next(status: dict[str, Any]) -> None:
        if victims and status["documents"]["answered"] >= 3 * (len(VICTIMS) - len(victims)):
            kill(victims.pop(0))

    status = ended(client, job, kill_next)
    assert victims == []
    assert status["documents"] == {"waiting": 0, "answered": 12, "failed": 0, "cancelled": 0}
    lines = results(client, job)
    assert [line["number"] for line in lines] == list(range(1, 13))
    assert sorted(line["file"] for line in lines) == sorted(name for _, (name, _) in files)
    assert {line["answer"]["status"] for line in lines} == {"success"}
    outcomes = [json.loads(line)["outcome"] for line in Path(settings.audit).read_text().splitlines()[before:]]
    assert outcomes.count("success") == 12, outcomes
    assert submitted(client, files, headers=key)["id"] == job
    for line in lines[::5]:
        alone = client.post("/v1/extract", files=[files[line["position"]]]).json()
        assert line["answer"]["document"] == alone["document"]
