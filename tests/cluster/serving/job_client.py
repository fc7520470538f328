"""A client of the routes of jobs in this process; nothing processes the jobs."""

from collections.abc import Sequence

from fastapi import FastAPI
from fastapi.testclient import TestClient

from layoutray.cluster.serving import failures
from layoutray.cluster.serving.auth import make_access
from layoutray.cluster.serving.capacity import Capacity
from layoutray.cluster.serving.job_api import JobRoutes
from layoutray.cluster.serving.jobs import JobRunner
from layoutray.cluster.serving.ledger import Ledger
from layoutray.cluster.serving.limits import Limits
from layoutray.cluster.serving.page_cache import PageCache
from layoutray.cluster.serving.prefixes import Prefixes
from layoutray.cluster.serving.receivers import Receivers
from layoutray.cluster.serving.served_models import ServedModels
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.telemetry import Telemetry


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
