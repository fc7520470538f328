"""A client of the routes of jobs in this process; nothing processes the jobs."""

from collections.abc import Mapping, Sequence

from fastapi import FastAPI
from fastapi.testclient import TestClient

from layoutray.serving import failures
from layoutray.serving.access.auth import make_guard
from layoutray.serving.answerer import DEFAULT
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.prefixes import Prefixes
from layoutray.serving.jobs.receivers import Receivers
from layoutray.serving.jobs.routes import JobRoutes
from layoutray.serving.jobs.runner import JobRunner
from layoutray.serving.limits import Limits
from layoutray.serving.model import ModelState
from layoutray.serving.telemetry import Telemetry


class _Unasked:
    """Has the default model, which nothing asks here."""

    def models(self) -> Mapping[str, ModelState]:
        return {DEFAULT: ModelState(None)}


def job_client(
    ledger: Ledger,
    limits: Limits,
    *,
    prefixes: Sequence[str] = (),
    hosts: Sequence[str] = (),
    keys: str = "",
    audit: str = "",
) -> TestClient:
    """The client, whose jobs are in `ledger`; without `keys`, which is a file, everybody may send jobs."""
    telemetry = Telemetry()
    guard = make_guard(keys, audit, telemetry)
    runner = JobRunner(ledger, _Unasked(), guard, limits, at_once=lambda: 1)  # pyright: ignore[reportArgumentType]
    api = FastAPI()
    failures.handle_failures(api)
    JobRoutes(
        ledger=ledger,
        runner=runner,
        guard=guard,
        limits=limits,
        prefixes=Prefixes.of(prefixes),
        receivers=Receivers.of(hosts, []),
    ).add_to(api)
    return TestClient(api, raise_server_exceptions=False)
