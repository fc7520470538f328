"""What an admin does with the jobs of other keys is in the audit log, and nothing of the documents."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from layoutray.serving.access.keys import KeyStore
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.records import JobFile, Submission
from layoutray.serving.limits import Limits
from tests.serving.job_client import job_client


@pytest.fixture
def headers(tmp_path: Path) -> dict[str, dict[str, str]]:
    """The header of each key, by its name."""
    with closing(KeyStore.open(str(tmp_path / "keys.db"), create=True)) as store:
        texts = {"alice": store.create("alice", ["jobs"]), "root": store.create("root", ["admin"])}
    return {name: {"Authorization": f"Bearer {text}", "X-Request-Id": f"of-{name}"} for name, text in texts.items()}


def test_only_an_admins_requests_for_the_job_of_another_key_have_a_line(
    ledger: Ledger, tmp_path: Path, headers: dict[str, dict[str, str]]
) -> None:
    audit = tmp_path / "audit.jsonl"
    client = job_client(ledger, Limits(), keys=str(tmp_path / "keys.db"), audit=str(audit))

    def added(owner: str) -> str:
        files = [JobFile("secret name.png", "1", lambda: b"secret content")]
        return ledger.add(Submission(owner=owner, options={"words": False}, files=files), 10)[0]

    job, own = added("alice"), added("root")
    for name, path in (("alice", f"/v1/jobs/{job}"), ("root", f"/v1/jobs/{own}")):
        assert client.get(path, headers=headers[name]).status_code == 200
    assert client.get(f"/v1/jobs/{'0' * 32}", headers=headers["root"]).status_code == 404
    assert not audit.exists()
    steps = [("GET", ""), ("GET", "/results"), ("POST", "/cancel"), ("DELETE", "")]
    for method, end in steps:
        assert client.request(method, f"/v1/jobs/{job}{end}", headers=headers["root"]).is_success
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["path"], line["outcome"]) for line in lines] == [
        (f"/v1/jobs/{job}{end}", outcome)
        for (_, end), outcome in zip(steps, ("read", "read", "cancelled", "deleted"), strict=True)
    ]
    assert {(line["key"], line["owner"], line["request_id"]) for line in lines} == {("root", "alice", "of-root")}
    assert "secret" not in audit.read_text()
