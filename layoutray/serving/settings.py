"""The settings of an endpoint."""

import math
import re
from dataclasses import dataclass, field, fields, replace

from layoutray.errors import InputError
from layoutray.ocr.settings import Recognition
from layoutray.serving.limits import Limits
from layoutray.serving.options import option

MEASURE_SECONDS = 1.0
"""How often the queue is measured, to decide on the number of replicas."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LAST_PORT = 65535


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Settings of an endpoint. The help of the options says what the others mean.

    Attributes:
        checkpoint: folder with the same path on every node that runs a model replica, an `s3://` address, or a name
            that `fetch` takes.
        model_version: version stated in answers; empty: the checkpoint's own.
        models: other models than `checkpoint` by name, each as `find` of `Registry` takes it.
        routes: names of these models by the kind of documents that they answer, see `serving.router`.
        host: 127.0.0.1 accepts connections from this machine only; 0.0.0.0 from the network, which needs `keys`.
        port: 0: the endpoint is reached through the HTTP proxies of Serve alone.
        scaling: when the numbers of replicas change; None as the largest number: it stays.
        cpus_per_replica: CPUs that each replica requests from Ray. The start waits until their sum is free.
        gpus_per_model: GPUs that each model replica requests from Ray; None is one if the cluster has one for each
            replica that there may be, else 0.
        batch_size: most pages (or documents, for text generation) in one model batch.
        keys, jobs, review, drift, audit: files on the head node; empty: there is none.
        review_sample: share of the accepted values that the review page shows nevertheless.
        review_share: share of the answered documents that are put into the review file.
    """

    checkpoint: str = field(kw_only=False)
    model_version: str = ""
    recognition: Recognition = field(default_factory=Recognition)
    models: dict[str, str] = option(
        "--model",
        dict,
        "serve another model too, at /v1/models/NAME/extract; it is loaded when a request asks for it; repeatable",
        metavar="NAME=MODEL",
    )
    routes: dict[str, str] = option(
        "--route",
        dict,
        "answer documents of this kind, which a model of task page_labels finds in packets, with a model of --model; "
        "repeatable",
        metavar="KIND=NAME",
    )
    model_memory_mib: float = option(
        "--model-memory",
        2048.0,
        "what the weights of these models may take in each model replica; to load one, those that were not used "
        "for the longest time are unloaded (default: %(default)s)",
        metavar="MIB",
    )
    host: str = option(
        "--host",
        "127.0.0.1",
        "address to listen on; 0.0.0.0 accepts connections from the network, and needs --keys or --open "
        "(default: %(default)s)",
    )
    port: int = option("--port", 8000, "port to listen on (default: %(default)s)")
    ocr_replicas: int = option("--ocr-replicas", 1, "processes that read pages (default: %(default)s)", metavar="N")
    max_ocr_replicas: int | None = option(
        "--max-ocr-replicas",
        None,
        "start more of these processes, up to N, while pages wait for them (default: --ocr-replicas)",
        metavar="N",
        type=int,
    )
    model_replicas: int = option(
        "--model-replicas",
        1,
        "processes that hold the models; 0: the process of the HTTP routes holds them, unless they use a GPU, which "
        "answers words some milliseconds sooner, and is for clients that you trust (default: %(default)s)",
        metavar="N",
    )
    max_model_replicas: int | None = option(
        "--max-model-replicas",
        None,
        "start more of these processes, up to N, while pages wait for them (default: --model-replicas)",
        metavar="N",
        type=int,
    )
    scaling: Scaling = field(default_factory=Scaling)
    cpus_per_replica: float = 0.5
    gpus_per_model: float | None = option(
        "--gpus",
        None,
        "GPUs of each model replica; 0 uses CPUs (default: 1 if there is one for each model replica, else 0)",
        type=float,
    )
    batch_size: int = 8
    beams: int = option("--beams", 1, "beam width of text-generating models; 1 is greedy (default: %(default)s)")
    limits: Limits = field(default_factory=Limits)
    ocr_cache_seconds: float = option(
        "--ocr-cache-seconds",
        0.0,
        "keep the words of each page in memory for this time, so that a file that comes again is not read again "
        "(default: keep none)",
        metavar="SECONDS",
    )
    follow_every_s: float = option(
        "--follow-every",
        5.0,
        "seconds between looks at the version that models:/NAME@ALIAS names; another one is loaded and served "
        "without a restart (default: %(default)s)",
        metavar="SECONDS",
    )
    jobs: str = option(
        "--jobs",
        "",
        "take jobs at /v1/jobs, and keep them in this file, or in the database postgresql://USER@HOST/DATABASE, "
        "whose password is read from PGPASSWORD or ~/.pgpass (default: take none)",
        metavar="LEDGER",
        is_path=True,
    )
    job_prefixes: tuple[str, ...] = option(
        "--job-prefixes",
        (),
        "take jobs of the objects below these addresses, such as s3://bucket/scans (default: of uploaded files)",
        metavar="ADDRESS",
    )
    webhook_hosts: tuple[str, ...] = option(
        "--webhook-hosts", (), "hosts that a job may name to be told of its end (default: none)", metavar="HOST"
    )
    webhook_networks: tuple[str, ...] = option(
        "--webhook-networks",
        (),
        "networks, such as 10.1.0.0/16, in which these hosts may be although they are not public (default: none)",
        metavar="NETWORK",
    )
    review: str = option(
        "--review",
        "",
        "show the page on which people see and correct answers at /, and keep their documents in this file "
        "(default: show none)",
        metavar="FILE",
        is_path=True,
    )
    review_sample: float = option(
        "--review-sample",
        0.05,
        "share of the accepted values that the review page shows anyway, to measure their precision (default: "
        "%(default)s)",
        metavar="SHARE",
    )
    review_share: float = option(
        "--review-share",
        0.0,
        "share of the documents answered by /v1/extract that are also put on the review page, drawn at random and kept "
        "in the file of --review (default: %(default)s)",
        metavar="SHARE",
    )
    drift: str = option(
        "--drift",
        "",
        "keep the evidence that documents have changed in this file, so that it goes on after a restart (default: it "
        "begins anew)",
        metavar="FILE",
        is_path=True,
    )
    keys: str = option(
        "--keys", "", "every request needs a key of this file (see `layoutray keys`)", metavar="FILE", is_path=True
    )
    open: bool = option("--open", False, "accept connections from the network without keys")
    audit: str = option(
        "--audit", "", "append a line of JSON for each document: who, what, outcome", metavar="FILE", is_path=True
    )

    def __post_init__(self) -> None:
        if not 0 <= self.port <= _LAST_PORT:
            raise InputError(f"port is {self.port}; it must be from 0 to {_LAST_PORT}")
        fewest = {"ocr_replicas": 1, "model_replicas": 1 if self.max_model_replicas else 0, "batch_size": 1, "beams": 1}
        for name, least in fewest.items():
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        for kind in ("ocr_replicas", "model_replicas"):
            least, most = getattr(self, kind), getattr(self, f"max_{kind}")
            if most is not None and most < least:
                raise InputError(f"max_{kind} is {most}; it must be at least {kind}, {least}")
        if self.gpus_per_model is not None and not 0 <= self.gpus_per_model < math.inf:
            raise InputError(f"gpus is {self.gpus_per_model}; it must be a finite number of at least 0")
        for name in ("review_sample", "review_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be a share from 0 to 1")
        if self.review_share and not self.review:
            raise InputError(f"review_share is {self.review_share} and there is no review file; give --review FILE")
        for name in ("follow_every_s", "model_memory_mib"):
            if not (0 < getattr(self, name) < math.inf):
                raise InputError(f"{name} is {getattr(self, name)}; it must be a finite number above 0")
        for name in ("keys", "audit", "review", "drift"):
            if "://" in getattr(self, name):
                raise InputError(
                    f"{name} is {getattr(self, name)}, which is an address; it must be a path on a local disk"
                )
        for name in self.models:
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{name!r} cannot be the name of a model; use 1 to 64 letters, digits, dots, dashes and "
                    "underscores, and begin with a letter or digit"
                )
        if unknown := sorted(set(self.routes.values()) - set(self.models)):
            raise InputError(
                f"routes name the models {', '.join(unknown)}; the models with a name are "
                f"{', '.join(self.models) or 'none'}: give each with --model NAME=MODEL"
            )
        if not (0 <= self.ocr_cache_seconds < math.inf):
            raise InputError(f"ocr_cache_seconds is {self.ocr_cache_seconds}; it must be a finite number of at least 0")
        # Imported here because they bring servers, clients and Arrow, for which `--help` shall not wait.
        from layoutray.review.local_only import is_this_machine
        from layoutray.serving.jobs.prefixes import Prefixes
        from layoutray.serving.jobs.receivers import Receivers

        Prefixes.of(self.job_prefixes)
        Receivers.of(self.webhook_hosts, self.webhook_networks)
        if self.keys and self.open:
            raise InputError(
                f"keys is {self.keys} and open is true; an endpoint with keys is not open: give one of them"
            )
        if not (self.keys or self.open or is_this_machine(self.host)):
            raise InputError(
                f"host is {self.host}, which other machines can reach, and there are no keys; create one with "
                "`layoutray keys create` and give its file with --keys, or let everybody in with --open"
            )

    def with_absolute_paths(self) -> "ServeSettings":
        """The same for processes with another working folder."""
        from layoutray.store import sources

        files = [one.name for one in fields(self) if one.metadata.get("is_path")]
        absolute = {name: sources.absolute(value) for name in files if (value := getattr(self, name))}
        models = {name: sources.absolute(model) for name, model in self.models.items()}
        return replace(self, models=models, **absolute)

    def scales(self) -> bool:
        """Whether the number of readers or model replicas may change."""
        pairs = ((self.ocr_replicas, self.max_ocr_replicas), (self.model_replicas, self.max_model_replicas))
        return any(most not in (None, least) for least, most in pairs)
