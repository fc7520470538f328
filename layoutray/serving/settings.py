"""The settings of an endpoint."""

import ipaddress
import math
import re
from dataclasses import dataclass, field

from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition
from layoutray.serving.jobs.prefixes import Prefixes
from layoutray.serving.jobs.receivers import Receivers
from layoutray.serving.limits import Limits

MODEL_MEMORY_MIB = 2048.0
MEASURE_SECONDS = 1.0
"""How often the queue is measured, to decide on the number of replicas."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Scaling:
    """When the number of replicas changes, if it may. More of them are started if pages or batches wait.

    Attributes:
        look_back_s: seconds over which the queue is averaged.
        more_after_s: seconds for which a queue must last before replicas are added.
        fewer_after_s: seconds for which replicas must have been too many before some are stopped.
    """

    look_back_s: float = 10.0
    more_after_s: float = 10.0
    fewer_after_s: float = 300.0

    def __post_init__(self) -> None:
        for name in ("look_back_s", "more_after_s", "fewer_after_s"):
            if not 0 < getattr(self, name) < 86_400:
                raise InputError(f"{name} is {getattr(self, name)}; it must be above 0 and below 86400 seconds")
        if self.look_back_s <= MEASURE_SECONDS:
            raise InputError(f"look_back_s is {self.look_back_s}; it must be more than {MEASURE_SECONDS:g} seconds")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings of an endpoint.

    Attributes:
        checkpoint: folder with the same path on every node that runs a model replica, an `s3://` address, or a name
            that `fetch` takes.
        model_version: version stated in answers; empty: the checkpoint's own.
        ocr_replicas, model_replicas: processes for OCR and for the model.
        ingress_replicas: processes on the head node that receive requests.
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
        jobs: file on the head node, or database `postgresql://USER@HOST/DATABASE`, with the jobs; empty: the endpoint
            takes none.
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
    ingress_replicas: int = 1
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
        for name in ("ocr_replicas", "model_replicas", "ingress_replicas", "batch_size", "beams"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for kind in ("ocr_replicas", "model_replicas"):
            least, most = getattr(self, kind), getattr(self, f"max_{kind}")
            if most is not None and most < least:
                raise InputError(f"max_{kind} is {most}; it must be at least {kind}, {least}")
        for name in ("follow_every_s", "model_memory_mib"):
            if not (0 < getattr(self, name) < math.inf):
                raise InputError(f"{name} is {getattr(self, name)}; it must be a finite number above 0")
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{name!r} cannot be the name of a model; use 1 to 64 letters, digits, dots, dashes and "
                    "underscores, and begin with a letter or digit"
                )
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

    def scales(self) -> bool:
        """Whether the number of readers or model replicas may change."""
        pairs = ((self.ocr_replicas, self.max_ocr_replicas), (self.model_replicas, self.max_model_replicas))
        return any(most not in (None, least) for least, most in pairs)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
