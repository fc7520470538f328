"""kill -9 of ingress, readers, model and the whole node at random moments under load: no accepted job is lost.

With a ledger in PostgreSQL, its server is stopped too. Only `make chaos` runs this test. It prints the seed of its
random moments; CHAOS_SEED sets it. `test_serve_jobs.py` kills each replica once in `make test`.
"""

import json
import os
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.cluster.checkpoints import save_untrained
from tests.cluster.job_load import JobLoad, SentJob
from tests.cluster.served import NODE, Endpoint, served
from tests.cluster.shared_ray import free_port
from tests.serving.ledger_places import LedgerPlace
from tests.serving.receiver import Receiver, receiving

pytestmark = [pytest.mark.ray, pytest.mark.ocr, pytest.mark.chaos]

READER, MODEL, INGRESS = (f"ServeReplica:layoutray:{name}" for name in ("PageReader", "ModelReplica", "Ingress"))
SERVER = "server of the ledger"
_PATIENCE = 1800.0
"""Seconds without anything new, after which something hangs. On a busy machine, a start takes minutes."""


def arguments(folder: Path, port: int, ledger: str) -> list[str]:
    """Of `layoutray serve`, with a new checkpoint."""
    save_untrained(folder / "checkpoint", fields={"date": {"many": True}, "total": {}})
    chosen = [str(folder / "checkpoint"), "--port", str(port), "--jobs", ledger]
    chosen += ["--audit", str(folder / "audit.jsonl"), "--webhook-hosts", "127.0.0.1"]
    return [*chosen, "--webhook-networks", "127.0.0.0/8", "--set", "recognition.profile=fast"]


def num_answered(audit: Path) -> int:
    """Documents that were answered so far, as the audit log says also while the endpoint is down."""
    return audit.read_text().count('"outcome": "success"') if audit.exists() else 0


def kill(victim: str, endpoint: Endpoint, place: LedgerPlace, random: Random) -> None:
    if victim == SERVER and place.server:
        with place.server.stopped():
            time.sleep(5 * random.random())
    else:
        endpoint.kill(victim)


def kill_all(
    victims: list[str], endpoint: Endpoint, place: LedgerPlace, load: JobLoad, audit: Path, random: Random
) -> None:
    """Kill the victims one after the other: after up to three more documents, and up to two seconds."""
    for number, victim in enumerate(victims, 1):
        wanted, until = num_answered(audit) + random.randint(number == 1, 3), time.monotonic() + _PATIENCE
        while num_answered(audit) < wanted:
            assert time.monotonic() < until, f"nothing goes on before kill {number}"
            endpoint.keep_running()
            time.sleep(0.1)
        time.sleep(2 * random.random())
        sys.stdout.write(f"{time.strftime('%X')} kill {number} {victim}, {len(load.jobs)} jobs\n")
        sys.stdout.flush()
        kill(victim, endpoint, place, random)
        endpoint.keep_running()


def wait_for_end(job: SentJob, endpoint: Endpoint, load: JobLoad) -> None:
    until = time.monotonic() + _PATIENCE
    while load.ask("GET", f"/v1/jobs/{job.id}").json().get("state") == "running":
        assert time.monotonic() < until, f"job {job.id} has not ended"
        endpoint.keep_running()
        time.sleep(0.1)


def check(job: SentJob, load: JobLoad) -> Counter[str]:
    """That the endpoint has done with a job what was asked for. Returns its documents and pages."""
    response = load.ask("GET", f"/v1/jobs/{job.id}")
    if job.fate == "delete":
        assert response.status_code == 404, f"job {job.id} was deleted"
        return Counter(deleted=1)
    shown = response.json()
    lines = [json.loads(line) for line in load.ask("GET", f"/v1/jobs/{job.id}/results").text.splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1)), "each document ends once"
    assert {line["state"] for line in lines} <= {"answered"}, lines
    assert len({line["file"] for line in lines}) == len(lines)
    assert shown["documents"]["answered"] == len(lines)
    if job.fate == "keep":
        assert (shown["state"], len(lines)) == ("done", len(job.files))
        assert shown["pages"] == {"done": job.pages, "left": 0}
        assert load.submit(job.key, job.files).json()["id"] == job.id, "a duplicate gives the same job"
    return Counter(documents=len(lines), pages=shown["pages"]["done"], **{shown["state"]: 1})


def check_pages(place: LedgerPlace, deleted: list[SentJob]) -> int:
    """That each page was stored once, and nothing of deleted jobs is in the ledger. Returns the number of pages."""
    rows = place.open().database.rows
    stored = rows("SELECT job, count(*) AS pages, max(number) AS number FROM pages GROUP BY job")
    again = [row["job"] for row in stored if row["pages"] != row["number"]]
    assert again == [], "a page that is stored again gets another number"
    assert {row["id"] for row in rows("SELECT id FROM jobs")}.isdisjoint(job.id for job in deleted)
    assert [job.id for job in deleted if place.having(job.id.encode())] == []
    return sum(row["pages"] for row in stored)


def check_webhooks(receiver: Receiver, load: JobLoad) -> int:
    """That the end of each job was told. Returns the number of calls."""
    expected = {f"msg_{job.id}" for job in load.jobs if job.fate != "delete"}
    until = time.monotonic() + 120
    while not expected <= (told := {one.headers["webhook-id"] for one in receiver.received}):
        assert time.monotonic() < until, f"not told: {expected - told}"
        time.sleep(0.5)
    return len(receiver.received)


@pytest.mark.parametrize(
    ("kills", "random"),
    [
        pytest.param(6, Random(5), id="small", marks=pytest.mark.timeout(1800)),
        pytest.param(30, Random(), id="large", marks=pytest.mark.timeout(5400)),
    ],
)
def test_every_accepted_job_ends_whatever_dies(kills: int, random: Random, place: LedgerPlace, tmp_path: Path) -> None:
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
    sys.stdout.write(f"CHAOS_SEED={seed}\n")
    random, port, started = Random(seed), free_port(), time.monotonic()
    kinds = (READER, MODEL, INGRESS, NODE, SERVER if place.server else READER, INGRESS)
    victims = [kinds[number % 6] for number in range(kills)]
    random.shuffle(victims)
    with (
        receiving() as receiver,
        served(arguments(tmp_path, port, place.address), tmp_path / "log") as endpoint,
        closing(JobLoad(f"http://127.0.0.1:{port}", receiver.url, random)) as load,
    ):
        load.start()
        kill_all(victims, endpoint, place, load, tmp_path / "audit.jsonl", random)
        load.stop()
        for job in load.jobs:
            wait_for_end(job, endpoint, load)
        found = sum((check(job, load) for job in load.jobs), Counter[str]())
        calls = check_webhooks(receiver, load)
    stored = check_pages(place, [job for job in load.jobs if job.fate == "delete"])
    figures = {"kills": Counter(victims), "starts": endpoint.starts, "jobs": len(load.jobs), **found, "stored": stored}
    figures |= {"webhooks": calls, "answers": dict(load.answers), "seconds": round(time.monotonic() - started)}
    sys.stdout.write(f"{figures}\n")
