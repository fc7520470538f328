"""The endpoint as a Ray Serve application: an HTTP ingress, OCR replicas and model replicas."""

import asyncio
import ipaddress
import logging
import math
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from fastapi import FastAPI
from ray import serve
from ray.exceptions import RayError
from ray.serve import Application
from ray.serve.exceptions import RayServeException
from ray.serve.handle import DeploymentHandle

from layoutray.checkpoint import Fetch
from layoutray.cluster import gpus
from layoutray.cluster.serving import request_log, review
from layoutray.cluster.serving.api import Routes
from layoutray.cluster.serving.auth import make_access
from layoutray.cluster.serving.capacity import Capacity, Scaling
from layoutray.cluster.serving.job_api import JobRoutes
from layoutray.cluster.serving.jobs import JobRunner
from layoutray.cluster.serving.ledger import Ledger
from layoutray.cluster.serving.limits import Limits
from layoutray.cluster.serving.listener import Address, listening
from layoutray.cluster.serving.model_version import Version
from layoutray.cluster.serving.page_cache import PageCache
from layoutray.cluster.serving.page_reader import PageReader
from layoutray.cluster.serving.prefixes import Prefixes
from layoutray.cluster.serving.receivers import Receivers
from layoutray.cluster.serving.replicas import ModelReplica
from layoutray.cluster.serving.served_models import ServedModels, check_names
from layoutray.cluster.serving.served_version import Find, Lookup, ServedVersion, VersionOnDemand, own_version
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.telemetry import Telemetry
from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition

_log = logging.getLogger(__name__)

_LAST_ANSWER_SECONDS = 5.0
"""A replica that is to stop finishes its requests first, and has this time beyond their limit."""
MODEL_MEMORY_MIB = 2048.0
_UNBOUNDED = 10_000
"""Concurrent calls that Serve allows; `Admission` sets the real limit. Serve's own refusal lacks Retry-After."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings of an endpoint.

    Attributes:
        checkpoint: folder with the same path on every node that runs a model replica, an `s3://` address, or a name
            that `fetch` takes.
        model_version: version stated in answers; empty: the checkpoint's own.
        ocr_replicas, model_replicas: processes for OCR and for the model.
        max_ocr_replicas, max_model_replicas: if more, their number grows up to these while pages wait, as `scaling`
            says; None: it stays.
        cpus_per_replica: CPUs that each replica requests from Ray. The start waits until their sum is free.
        gpus_per_model: GPUs that each model replica requests from Ray; None is one if the cluster has one for each
            replica that there may be, else 0.
        batch_size: most pages (or documents, for text generation) in one model batch.
        beams: beam width of text generation (1 = greedy).
        follow_every_s: seconds between looks at the registry for another version, when an alias is followed.
        ocr_cache_seconds: seconds for which the words of a page are kept in memory; 0 keeps none.
        host: 127.0.0.1 accepts connections from this machine only; 0.0.0.0 from the network, which needs `keys`.
        port: 0: the endpoint is reached through the HTTP proxies of Serve alone.
        keys: file of `layoutray keys` on the head node, with the keys that requests need; empty: none is needed.
        jobs: file on the head node with the jobs; empty: the endpoint takes none.
        job_prefixes: addresses `s3://BUCKET/PATH` below which jobs may name objects.
        models: other models than `checkpoint` by name, each as `find` of `build_app` takes it. A model is loaded when a
            request asks for it.
        model_memory_mib: what the weights of these models may take in each model replica, in MiB.
        webhook_hosts: hosts that jobs may name as webhooks.
        webhook_networks: networks such as `10.1.0.0/16` in which webhooks may be, although they are not public.
        review: file on the head node with the documents of the review page; empty: the endpoint has none.
        review_sample: share of the accepted values that the page shows nevertheless.
        audit: file on the head node to which the audit log is appended; empty: none is written.
        open: accept connections from the network although there are no keys.
    """

    checkpoint: str
    model_version: str = ""
    recognition: Recognition = field(default_factory=Recognition)
    limits: Limits = field(default_factory=Limits)
    ocr_replicas: int = 1
    model_replicas: int = 1
    max_ocr_replicas: int | None = None
    max_model_replicas: int | None = None
    scaling: Scaling = field(default_factory=Scaling)
    cpus_per_replica: float = 0.5
    gpus_per_model: float | None = None
    batch_size: int = 8
    beams: int = 1
    follow_every_s: float = 5.0
    ocr_cache_seconds: float = 0.0
    host: str = "127.0.0.1"
    port: int = 8000
    keys: str = ""
    jobs: str = ""
    models: dict[str, str] = field(default_factory=dict[str, str])
    model_memory_mib: float = MODEL_MEMORY_MIB
    job_prefixes: tuple[str, ...] = ()
    webhook_hosts: tuple[str, ...] = ()
    webhook_networks: tuple[str, ...] = ()
    review: str = ""
    review_sample: float = 0.05
    audit: str = ""
    open: bool = False

    def __post_init__(self) -> None:
        for name in ("ocr_replicas", "model_replicas", "batch_size", "beams"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for kind in ("ocr_replicas", "model_replicas"):
            least, most = getattr(self, kind), getattr(self, f"max_{kind}")
            if most is not None and most < least:
                raise InputError(f"max_{kind} is {most}; it must be at least {kind}, {least}")
        for name in ("follow_every_s", "model_memory_mib"):
            if not (0 < getattr(self, name) < math.inf):
                raise InputError(f"{name} is {getattr(self, name)}; it must be a finite number above 0")
        check_names(self.models)
        if not (0 <= self.ocr_cache_seconds < math.inf):
            raise InputError(f"ocr_cache_seconds is {self.ocr_cache_seconds}; it must be a finite number of at least 0")
        Prefixes.of(self.job_prefixes)
        Receivers.of(self.webhook_hosts, self.webhook_networks)
        if self.keys and self.open:
            raise InputError(
                f"keys is {self.keys} and open is true; an endpoint with keys is not open: give one of them"
            )
        if not (self.keys or self.open or _is_loopback(self.host)):
            raise InputError(
                f"host is {self.host}, which other machines can reach, and there are no keys; create one with "
                "`layoutray keys create` and give its file with --keys, or let everybody in with --open"
            )


class Ingress:
    """The HTTP ingress. It has one replica, which passes requests to the other deployments."""

    def __init__(
        self,
        settings: ServeSettings,
        reader: DeploymentHandle,
        model: DeploymentHandle,
        lookup: Lookup | None,
        find: Find,
    ) -> None:
        request_log.write_with_serve()
        metrics = Telemetry()
        models = ServedModels(
            ServedVersion(model, lookup, settings.follow_every_s, metrics),
            {
                name: VersionOnDemand(name, model, partial(find, address), settings.follow_every_s, metrics)
                for name, address in settings.models.items()
            },
        )
        capacity = Capacity(settings.ocr_replicas, settings.model_replicas, settings.batch_size)
        service = Service(reader, model, models, capacity, PageCache(settings.ocr_cache_seconds), metrics)
        limits = settings.limits
        self._settings = settings
        self._capacity = capacity
        metrics.count_replicas(capacity)
        self._access = access = make_access(settings.keys, settings.audit, metrics)
        self._routes = Routes(service, limits, metrics, access, capacity)
        self._jobs: JobRoutes | None = None
        if settings.jobs:
            ledger = Ledger.open(settings.jobs)
            runner = JobRunner(ledger, service, access, limits, at_once=capacity.pages_in_ocr)
            prefixes = Prefixes.of(settings.job_prefixes)
            receivers = Receivers.of(settings.webhook_hosts, settings.webhook_networks)
            self._jobs = JobRoutes(ledger, runner, access, limits, prefixes, receivers)

    async def drain(self) -> None:
        """Refuse further documents, and wait until those in flight are answered."""
        await self._routes.drain()

    def __serve_build_asgi_app__(self) -> FastAPI:
        api = self._routes.api()
        if self._jobs:
            self._jobs.add_to(api)
        if self._settings.review:
            review.mount(
                api,
                self._settings.review,
                self._settings.review_sample,
                self._routes,
                self._access.guard,
            )
        api.router.lifespan_context = self._lifespan
        return api

    @asynccontextmanager
    async def _lifespan(self, api: FastAPI) -> AsyncGenerator[None]:
        """Count replicas, process jobs and listen until the application stops."""
        context = serve.get_replica_context()
        if context.world_size > 1:
            raise InputError(
                f"the deployment Ingress has {context.world_size} replicas; it must have one, which alone knows the "
                "metrics, the documents in flight and the jobs in progress"
            )
        running = [self._capacity.follow(partial(_count_replicas, context.app_name))]
        if self._jobs:
            running.append(self._jobs.run())
        tasks = [asyncio.create_task(one) for one in running]
        try:
            async with AsyncExitStack() as stack:
                if self._settings.port:
                    await stack.enter_async_context(listening(api, Address(self._settings.host, self._settings.port)))
                yield
        finally:
            for task in tasks:
                task.cancel()


def build_app(
    settings: ServeSettings, fetch: Fetch = str, lookup: Lookup | None = None, find: Find = own_version
) -> Application:
    """The application for `serve.run` on the connected cluster.

    Args:
        fetch: gives the folder of a checkpoint in the process that reads it.
        lookup: gives the version of the default model to serve, again and again; None serves that of `settings` for
            ever.
        find: gives the version to serve of another model, from its entry in `settings.models`, again and again.
    """
    cpus = {"num_cpus": settings.cpus_per_replica}
    patience = settings.limits.timeout_s + _LAST_ANSWER_SECONDS
    reader = serve.deployment(
        **settings.scaling.options(settings.ocr_replicas, settings.max_ocr_replicas),
        max_ongoing_requests=1,
        ray_actor_options=cpus,
        graceful_shutdown_timeout_s=patience,
    )(PageReader)
    models = settings.max_model_replicas or settings.model_replicas
    model = serve.deployment(
        **settings.scaling.options(settings.model_replicas, settings.max_model_replicas),
        max_ongoing_requests=_UNBOUNDED,
        ray_actor_options={**cpus, "num_gpus": gpus.of_each(models, settings.gpus_per_model)},
        graceful_shutdown_timeout_s=patience,
    )(ModelReplica)
    ingress = serve.deployment(
        name="Ingress",
        max_ongoing_requests=_UNBOUNDED,
        # The head node has the files of keys, jobs and audit.
        ray_actor_options={"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}},
        graceful_shutdown_timeout_s=patience,
    )(serve.ingress()(Ingress))
    return ingress.bind(
        settings,
        reader.bind(_limited_recognition(settings)),
        model.bind(
            Version(settings.checkpoint, settings.model_version),
            fetch,
            settings.beams,
            int(settings.model_memory_mib * 2**20),
        ),
        lookup,
        find,
    )


@contextmanager
def running(
    settings: ServeSettings,
    name: str = "layoutray",
    fetch: Fetch = str,
    lookup: Lookup | None = None,
    find: Find = own_version,
) -> Generator[str]:
    """Serve on the connected Ray during the `with` block; yields the URL when all replicas are ready.

    The application is deleted at the end. Serve itself keeps running: it may host other applications.

    Raises:
        InputError: when another program listens on the port.
        RuntimeError: (from Ray) when a replica cannot start.
    """
    address = Address(settings.host, settings.port)
    address.require_free()
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(proxy_location="Disabled", logging_config=request_log.FORMAT)
    app = build_app(settings, fetch, lookup, find)
    try:
        serve.run(app, name=name, route_prefix=None, logging_config=request_log.FORMAT)
        yield str(address)
    finally:
        try:
            _drain(name, settings.limits.timeout_s)
        finally:
            serve.delete(name)


def _drain(name: str, seconds: float) -> None:
    """Let an application answer the documents in flight. Its deployments stop at the same time, so this comes first."""
    application = serve.status().applications.get(name)
    if application is None or application.status != "RUNNING":
        return
    try:
        serve.get_app_handle(name).drain.remote().result(timeout_s=seconds)
    except (TimeoutError, RayError, RayServeException) as error:
        _log.warning("documents in flight may have no answer: %s", error)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _count_replicas(application: str) -> tuple[int, int]:
    """The readers and model replicas of an application that run now."""
    deployments = serve.status().applications[application].deployments
    readers, models = (deployments[kind.__name__].replica_states.items() for kind in (PageReader, ModelReplica))
    return sum(n for state, n in readers if state == "RUNNING"), sum(n for state, n in models if state == "RUNNING")


def _limited_recognition(settings: ServeSettings) -> Recognition:
    """The recognition settings within the limits: OCR of a page stops when its request has timed out."""
    recognition, limits = settings.recognition, settings.limits
    return replace(
        recognition,
        deadline=min(recognition.deadline, limits.timeout_s),
        max_pages=min(recognition.max_pages, limits.max_pages),
    )
