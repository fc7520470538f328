"""The endpoint as a Ray Serve application: an HTTP ingress, OCR replicas and model replicas."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from ray import serve
from ray.exceptions import RayError
from ray.serve import Application
from ray.serve.exceptions import RayServeException
from ray.serve.schema import LoggingConfig

from layoutray.cluster import gpus
from layoutray.cluster.endpoint.ingress import Ingress
from layoutray.cluster.endpoint.listener import Address
from layoutray.cluster.endpoint.page_reader import PageReader
from layoutray.cluster.endpoint.replicas import HeldModels, ModelReplica
from layoutray.cluster.endpoint.scaling import application_status, replica_options
from layoutray.cluster.endpoint.versions import NO_REGISTRY, Registry
from layoutray.serving.model import Version
from layoutray.serving.settings import ServeSettings

_log = logging.getLogger(__name__)

_LOG_FORMAT = LoggingConfig(encoding="JSON", log_level="WARNING", enable_access_log=False)
"""For the processes of Serve. The level is that of Serve's own lines."""
_LAST_ANSWER_SECONDS = 5.0
"""A replica that is to stop finishes its requests first, and has this time beyond their limit."""
_LATE = 2
"""Times the limit of a document after which a batch shows that its replica hangs: its callers have gone long ago."""
_UNBOUNDED = 10_000
"""Concurrent calls that Serve allows; `Admission` sets the real limit. Serve's own refusal lacks Retry-After."""


def build_app(settings: ServeSettings, registry: Registry) -> Application:
    """The application for `serve.run` on the connected cluster."""
    cpus, limits, recognition = {"num_cpus": settings.cpus_per_replica}, settings.limits, settings.recognition
    patience = limits.timeout_s + _LAST_ANSWER_SECONDS
    reader = serve.deployment(
        **replica_options(settings.scaling, settings.ocr_replicas, settings.max_ocr_replicas),
        max_ongoing_requests=1,
        ray_actor_options=cpus,
        graceful_shutdown_timeout_s=patience,
    )(PageReader)
    first, budget = Version(settings.checkpoint, settings.model_version), int(settings.model_memory_mib * 2**20)
    deadline = _LATE * limits.timeout_s
    held = HeldModels(first=first, fetch=registry.fetch, beams=settings.beams, budget=budget, deadline_s=deadline)
    least = max(settings.model_replicas, 1)
    num_gpus = gpus.of_each(settings.max_model_replicas or least, settings.gpus_per_model)
    model = serve.deployment(
        **replica_options(settings.scaling, least, settings.max_model_replicas),
        max_ongoing_requests=_UNBOUNDED,
        ray_actor_options={**cpus, "num_gpus": num_gpus},
        graceful_shutdown_timeout_s=patience,
    )(ModelReplica)
    ingress = serve.deployment(
        name="Ingress",
        num_replicas=1,
        max_ongoing_requests=_UNBOUNDED,
        # The head node has the files of keys, jobs and audit.
        ray_actor_options={"num_cpus": 0, "resources": {"node:__internal_head__": 0.001}},
        graceful_shutdown_timeout_s=patience,
    )(serve.ingress()(Ingress))
    # OCR of a page stops when its request has timed out.
    within_limits = replace(
        recognition,
        deadline=min(recognition.deadline, limits.timeout_s),
        max_pages=min(recognition.max_pages, limits.max_pages),
    )
    return ingress.bind(
        settings,
        reader.bind(within_limits),
        model.bind(held) if settings.model_replicas or num_gpus else held,
        registry,
    )


@contextmanager
def running(settings: ServeSettings, name: str = "layoutray", registry: Registry = NO_REGISTRY) -> Generator[str]:
    """Serve on the connected Ray during the `with` block; yields the URL when all replicas are ready.

    The application is deleted at the end. Serve itself keeps running: it may host other applications.

    Raises:
        InputError: when another program listens on the port.
        RuntimeError: (from Ray) when a replica cannot start.
    """
    address = Address(settings.host, settings.port)
    address.require_free()
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(proxy_location="Disabled", logging_config=_LOG_FORMAT)
    app = build_app(settings, registry)
    try:
        serve.run(app, name=name, route_prefix=None, logging_config=_LOG_FORMAT)
        yield str(address)
    finally:
        try:
            _drain(name, settings.limits.timeout_s)
        finally:
            serve.delete(name)


def _drain(name: str, seconds: float) -> None:
    """Let an application answer the documents in flight. Its deployments stop at the same time, so this comes first."""
    application = application_status(name)
    if application is None or application.status != "RUNNING":
        return
    try:
        serve.get_app_handle(name).broadcast("drain").results(timeout_s=seconds)
    except (TimeoutError, RayError, RayServeException) as error:
        _log.warning("documents in flight may have no answer: %s", error)
