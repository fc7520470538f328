"""A client of the routes of jobs in this process; nothing processes the jobs."""

from collections.abc import Sequence

from fastapi import FastAPI
from fastapi.testclient import TestClient

from layoutray.cluster.endpoint.job_api import JobRoutes
from layoutray.cluster.endpoint.jobs import JobRunner
from layoutray.cluster.endpoint.page_cache import PageCache
from layoutray.cluster.endpoint.served_models import ServedModels
from layoutray.cluster.endpoint.service import Service
from layoutray.serving import failures
from layoutray.serving.access.auth import make_access
from layoutray.serving.capacity import Capacity
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.prefixes import Prefixes
from layoutray.serving.jobs.receivers import Receivers
from layoutray.serving.limits import Limits
from layoutray.serving.telemetry import Telemetry


def job_client(
    ledger: Ledger, limits: Limits, *, prefixes: Sequence[str] = (), hosts: Sequence[str] = ()
) -> TestClient:
    """The client, whose jobs are in `ledger`."""
    telemetry = Telemetry()
    access = make_access("", "", telemetry)
    models = ServedModels(None, {})  # pyright: ignore[reportArgumentType]
    service = Service(None, None, models, Capacity(1, 1, 1), PageCache(0), telemetry)  # pyright: ignore[reportArgumentType]
    runner = JobRunner(ledger, service, access, limits, at_once=lambda: 1)
    api = FastAPI()
    failures.handle_failures(api)
    JobRoutes(ledger, runner, access, limits, Prefixes.of(prefixes), Receivers.of(hosts, [])).add_to(api)
    return TestClient(api, raise_server_exceptions=False)
