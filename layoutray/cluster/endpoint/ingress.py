"""The process on the head node that receives requests and processes jobs."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Any

from fastapi import FastAPI
from ray import serve
from ray.serve.handle import DeploymentHandle
from starlette.middleware import Middleware

from layoutray.cluster.endpoint.listener import Address, listening
from layoutray.cluster.endpoint.models import ModelReplicas, ModelsHere
from layoutray.cluster.endpoint.page_reader import PageReader
from layoutray.cluster.endpoint.replicas import HeldModels, ModelReplica
from layoutray.cluster.endpoint.scaling import application_status
from layoutray.cluster.endpoint.service import Service
from layoutray.cluster.endpoint.versions import Registry, ServedVersion, VersionOnDemand
from layoutray.errors import InputError
from layoutray.review.local_only import LocalOnly
from layoutray.review.store import ReviewStore
from layoutray.serving import request_log, review_page
from layoutray.serving.access.auth import make_guard
from layoutray.serving.answerer import DEFAULT
from layoutray.serving.capacity import Capacity
from layoutray.serving.drift_file import DriftFile
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.prefixes import Prefixes
from layoutray.serving.jobs.receivers import Receivers
from layoutray.serving.jobs.routes import JobRoutes
from layoutray.serving.jobs.runner import JobRunner
from layoutray.serving.page_cache import PageCache
from layoutray.serving.review_share import ReviewShare
from layoutray.serving.routes import Routes
from layoutray.serving.settings import ServeSettings
from layoutray.serving.telemetry import Telemetry
from layoutray.tracking import client


class Ingress:
    """The HTTP ingress. It passes requests to the other deployments; `model` may also be held here."""

    def __init__(
        self,
        settings: ServeSettings,
        reader: DeploymentHandle,
        model: DeploymentHandle | HeldModels,
        registry: Registry,
    ) -> None:
        request_log.write_with_serve()
        client.be_impatient()
        if (replicas := serve.get_replica_context().world_size) != 1:  # each would process the jobs
            raise InputError(
                f"the deployment Ingress has {replicas} replicas; it must have one: leave its num_replicas out of the "
                "Serve configuration"
            )
        metrics, limits = Telemetry(DriftFile(settings.drift)), settings.limits
        self._models = models = (
            ModelsHere(ModelReplica(model)) if isinstance(model, HeldModels) else ModelReplicas(model)
        )
        served = {DEFAULT: ServedVersion(models, registry.lookup, settings.follow_every_s, metrics)}
        for name, address in settings.models.items():
            wanted = partial(registry.find, address)
            served[name] = VersionOnDemand(name, models, wanted, settings.follow_every_s, metrics)
        capacity = Capacity(settings.ocr_replicas, max(settings.model_replicas, 1), settings.batch_size)
        service = Service(
            reader=reader,
            holder=models,
            served=served,
            routes=settings.routes,
            capacity=capacity,
            kept=PageCache(settings.ocr_cache_seconds),
            telemetry=metrics,
            limits=limits,
        )
        self._settings = settings
        self._capacity = capacity
        metrics.count_replicas(capacity)
        guard = make_guard(settings.keys, settings.audit, metrics)
        self._review = ReviewStore.open(settings.review, sample=settings.review_sample) if settings.review else None
        self._routes = Routes(
            answerer=service,
            limits=limits,
            telemetry=metrics,
            guard=guard,
            capacity=capacity,
            review=ReviewShare(self._review, settings.review_share, metrics) if self._review else None,
        )
        self._jobs: JobRoutes | None = None
        if settings.jobs:
            ledger = Ledger.open(settings.jobs)
            self._jobs = JobRoutes(
                ledger=ledger,
                runner=JobRunner(ledger, service, guard, limits, at_once=capacity.pages_in_ocr),
                guard=guard,
                limits=limits,
                prefixes=Prefixes.of(settings.job_prefixes),
                receivers=Receivers.of(settings.webhook_hosts, settings.webhook_networks),
            )

    async def check_health(self) -> None:
        await self._models.check_health()

    async def drain(self) -> None:
        await self._routes.drain()

    def __serve_build_asgi_app__(self) -> FastAPI:
        api = self._routes.api()
        if not (self._settings.keys or self._settings.open):
            api.user_middleware.append(Middleware(LocalOnly))  # behind the log of requests
        if self._jobs:
            self._jobs.add_to(api)
        if self._review:
            review_page.mount(api, self._review, self._routes)
        api.router.lifespan_context = self._lifespan
        return api

    @asynccontextmanager
    async def _lifespan(self, api: FastAPI) -> AsyncGenerator[None]:
        """Count replicas, process jobs and listen until the application stops."""
        address = Address(self._settings.host, self._settings.port)
        running: list[Coroutine[Any, Any, None]] = []
        if self._settings.scales():
            running.append(self._capacity.follow(partial(_count_replicas, serve.get_replica_context().app_name)))
        if self._jobs:
            running.append(self._jobs.run())
        tasks = [asyncio.create_task(one) for one in running]
        try:
            async with listening(api, address) if address.port else nullcontext():
                yield
        finally:
            for task in tasks:
                task.cancel()
            if self._review:
                self._review.close()


def _count_replicas(application: str) -> tuple[int, int]:
    """The readers and model replicas of an application that run now."""
    status = application_status(application)
    states = {name: one.replica_states for name, one in status.deployments.items()} if status else {}
    running = (states.get(kind.__name__, {}) for kind in (PageReader, ModelReplica))
    readers, models = (sum(n for state, n in of.items() if state == "RUNNING") for of in running)
    return readers, models
