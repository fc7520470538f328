"""The endpoint as a Ray Serve application: HTTP in front, readers and model behind it, each with replicas of its own."""

import logging
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import FastAPI
from ray import serve
from ray.serve.handle import DeploymentHandle
from ray.serve.schema import LoggingConfig

from layoutray import config
from layoutray.cluster.serving.api import Routes
from layoutray.cluster.serving.limits import Limits
from layoutray.cluster.serving.replicas import ModelReplica, PageReader
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.telemetry import Telemetry
from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition

_UNBOUNDED = 10_000
"""Calls that Serve may hand on at once where `Admission` is what bounds them; its own refusal would come without Retry-After."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Attributes:
    checkpoint: folder, at the same place on every node that runs a model replica, or an `s3://` address.
    model_version: as answers state it; empty takes the checkpoint's own.
    cpus_per_replica: what each reader and model replica asks of Ray; their sum must be free, or the start waits for it.
    batch_size, batch_wait_s: pages, or documents to write about, that share a pass through the model, and how long the first waits for
        others.
    beams: of models that write: hypotheses that are kept at each word; 1 is greedy.
    host: 127.0.0.1 keeps the endpoint to this machine; 0.0.0.0 opens it, without any authentication.
    """

    checkpoint: str
    model_version: str = ""
    recognition: Recognition = field(default_factory=Recognition)
    limits: Limits = field(default_factory=Limits)
    ocr_replicas: int = 1
    model_replicas: int = 1
    cpus_per_replica: float = 0.5
    gpus_per_model: float = 0.0
    batch_size: int = 8
    batch_wait_s: float = 0.01
    beams: int = 1
    host: str = "127.0.0.1"
    port: int = 8000

    def __post_init__(self) -> None:
        for name in ("ocr_replicas", "model_replicas", "batch_size", "beams"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")


class Ingress:
    """Takes requests in; one replica, which only waits and hands on."""

    def __init__(self, settings: ServeSettings, reader: DeploymentHandle, model: DeploymentHandle) -> None:
        measured = Telemetry()
        # One more than there are readers, so that the next page is there when a reader becomes free.
        service = Service(reader, model, reading_at_once=settings.ocr_replicas + 1, telemetry=measured)
        most = settings.ocr_replicas + settings.limits.max_queued_requests
        self._routes = Routes(service, settings.limits, measured, most=most)

    def __serve_build_asgi_app__(self) -> FastAPI:
        return self._routes.api()


def build_app(settings: ServeSettings) -> serve.Application:
    """The application, to be handed to `serve.run`."""
    cpus = {"num_cpus": settings.cpus_per_replica}
    reader = serve.deployment(num_replicas=settings.ocr_replicas, max_ongoing_requests=1, ray_actor_options=cpus)(
        PageReader
    )
    model = serve.deployment(
        num_replicas=settings.model_replicas,
        max_ongoing_requests=_UNBOUNDED,
        ray_actor_options={**cpus, "num_gpus": settings.gpus_per_model},
    )(ModelReplica)
    ingress = serve.deployment(name="Ingress", max_ongoing_requests=_UNBOUNDED, ray_actor_options={"num_cpus": 0})(
        serve.ingress()(Ingress)
    )
    return ingress.bind(
        settings,
        reader.bind(_bounded(settings)),
        model.bind(
            settings.checkpoint, settings.model_version, settings.batch_size, settings.batch_wait_s, settings.beams
        ),
    )


def application(arguments: dict[str, Any]) -> serve.Application:
    """`build_app` for a Serve configuration file (`import_path`); its `args` are keys of `ServeSettings`.

    Where the endpoint listens is the file's own matter, so `host` and `port` say nothing there.

    Raises:
        RecipeError: for a key that is none of them, or a value of another type.
    """
    return build_app(config.build(ServeSettings, arguments))


@contextmanager
def running(settings: ServeSettings, name: str = "layoutray") -> Generator[str]:
    """Serve on a connected Ray for the `with` block; yields the URL once every replica is ready.

    At its end the application is taken down. Serve itself stays as long as the cluster: others may have applications there.

    Raises:
        InputError: when the cluster's Serve was started before, with another host or port.
        RuntimeError: (Ray's) when a replica cannot start.
    """
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    quiet = LoggingConfig(log_level="WARNING", enable_access_log=False)
    if not serve.status().proxies:
        serve.start(http_options={"host": settings.host, "port": settings.port}, logging_config=quiet)
    try:
        serve.run(build_app(settings), name=name, logging_config=quiet)
        _check_listening(settings)
        yield f"http://{settings.host}:{settings.port}"
    finally:
        serve.delete(name)


def _check_listening(settings: ServeSettings) -> None:
    try:
        socket.create_connection((settings.host, settings.port), timeout=5).close()
    except OSError as error:
        raise InputError(
            f"nothing listens on {settings.host}:{settings.port}; this cluster's Serve was started before with another host or port, "
            "which only a restart of the cluster changes"
        ) from error


def _bounded(settings: ServeSettings) -> Recognition:
    """Recognition within the limits: a page that nobody waits for any more does not keep its reader longer than that."""
    chosen, limits = settings.recognition, settings.limits
    tesseract = replace(chosen.tesseract, deadline=min(chosen.tesseract.deadline, limits.timeout_s))
    return replace(chosen, tesseract=tesseract, max_pages=min(chosen.max_pages, limits.max_pages))
