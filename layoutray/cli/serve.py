"""`layoutray serve`: answer documents over HTTP until Ctrl-C or SIGTERM."""

import argparse
import contextlib
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutray import checkpoint, config
from layoutray.checkpoint import Fetch
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import RecipeOptions
from layoutray.cluster.connect import connect
from layoutray.cluster.endpoint.application import Application, build_app, running
from layoutray.cluster.endpoint.served_version import Find, Lookup
from layoutray.cluster.endpoint.settings import MODEL_MEMORY_MIB, ServeSettings
from layoutray.devices import CPU
from layoutray.errors import InputError
from layoutray.ocr import engines
from layoutray.recipe.ingest import load_ingest
from layoutray.review.store import ReviewStore
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.limits import Limits
from layoutray.serving.model import Version, load_model, served_path, weights_bytes
from layoutray.store import sources
from layoutray.tracking import registered, stores

_ANY_HOST = "0.0.0.0"


@dataclass(frozen=True, kw_only=True)
class ServeOptions(RecipeOptions):
    """Options of `layoutray serve`.

    Attributes:
        gpus: of each model replica.
        follow_every: seconds between looks at the registry.
        timeout: seconds per document.
        keep_jobs: hours.
        ocr_cache_seconds: see `ServeSettings`.
        ingress_replicas, max_ocr_replicas, max_model_replicas: see `ServeSettings`.
        models: `NAME=MODEL` of the models that are not the default one.
        model_memory: MiB.
        keys, audit, open, jobs, job_prefixes, webhook_hosts, webhook_networks, review: see `ServeSettings`.
    """

    checkpoint: str
    models: list[str]
    model_memory: float
    recipe: str
    host: str
    port: int
    ocr_replicas: int
    model_replicas: int
    ingress_replicas: int
    max_ocr_replicas: int | None
    max_model_replicas: int | None
    gpus: float | None
    beams: int
    follow_every: float
    timeout: float
    ocr_cache_seconds: float
    jobs: str
    keep_jobs: float
    job_prefixes: list[str]
    webhook_hosts: list[str]
    webhook_networks: list[str]
    review: str
    keys: str
    audit: str
    open: bool
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = parse(arguments)
    if chosen.dry_run:
        plan = {"checkpoint": chosen.checkpoint, "host": chosen.host, "port": chosen.port}
        return terminal.show_plan(load_ingest(chosen.recipe, chosen.overrides), plan)
    settings, fetch, lookup, find = parts(chosen)
    path = check(settings, fetch, find)
    key = '-H "Authorization: Bearer KEY" ' if settings.keys else ""
    with connect(), contextlib.suppress(KeyboardInterrupt):
        for number in (signal.SIGINT, signal.SIGTERM):  # after connecting, which installs Ray's own handlers
            signal.signal(number, signal.default_int_handler)
        with running(settings, fetch=fetch, lookup=lookup, find=find) as url:
            terminal.say(f"serving at {url} (API: {url}/docs); try: curl {key}-F file=@page.png {url}{path}")
            threading.Event().wait()
    terminal.say("stopped")
    return 0


def parts(chosen: ServeOptions) -> tuple[ServeSettings, Fetch, Lookup | None, Find]:
    """Settings of the endpoint, and the arguments of `build_app`."""
    name = registered.resolve(chosen.checkpoint, chosen.tracking_uri)
    return (
        ServeSettings(
            checkpoint=name,
            model_version=registered.version_of(name),
            models=_named(chosen.models),
            model_memory_mib=chosen.model_memory,
            recognition=load_ingest(chosen.recipe, chosen.overrides).recognition,
            limits=Limits(timeout_s=chosen.timeout, keep_jobs_s=chosen.keep_jobs * 3600),
            ocr_replicas=chosen.ocr_replicas,
            model_replicas=chosen.model_replicas,
            ingress_replicas=chosen.ingress_replicas,
            max_ocr_replicas=chosen.max_ocr_replicas,
            max_model_replicas=chosen.max_model_replicas,
            gpus_per_model=chosen.gpus,
            beams=chosen.beams,
            follow_every_s=chosen.follow_every,
            ocr_cache_seconds=chosen.ocr_cache_seconds,
            host=chosen.host,
            port=chosen.port,
            jobs=sources.absolute(chosen.jobs) if chosen.jobs else "",
            job_prefixes=tuple(chosen.job_prefixes),
            webhook_hosts=tuple(chosen.webhook_hosts),
            webhook_networks=tuple(chosen.webhook_networks),
            review=_absolute(chosen.review),
            keys=_absolute(chosen.keys),
            audit=_absolute(chosen.audit),
            open=chosen.open,
        ),
        registered.fetcher(chosen.tracking_uri),
        following(chosen.checkpoint, chosen.tracking_uri),
        finder(chosen.tracking_uri),
    )


def application(arguments: dict[str, Any]) -> Application:
    """The application for a Serve configuration file (`import_path`); its `args` are keys of `ServeSettings`.

    `checkpoint` may also be `models:/NAME@ALIAS`. `host` and `port` have no effect: the proxies of Serve listen where
    the configuration file states. It may be the network, so one of `keys` and `open` is needed.

    Raises:
        RecipeError: when a key is unknown or a value has the wrong type.
        InputError: when the registry does not have the model, or neither `keys` nor `open` is given.
    """
    settings = config.build(ServeSettings, {**arguments, "host": _ANY_HOST, "port": 0})
    uri = stores.default_uri()
    name = registered.resolve(settings.checkpoint, uri)
    version = settings.model_version or registered.version_of(name)
    lookup = following(settings.checkpoint, uri)
    named = replace(settings, checkpoint=name, model_version=version)
    return build_app(named, registered.fetcher(uri), lookup, finder(uri))


def check(settings: ServeSettings, fetch: Fetch, find: Find) -> str:
    """Raise the error of a part that is broken or missing. Returns the path of the model's answers."""
    # Fail here with one clear line if OCR engine, checkpoint, ledger or key file is broken;
    # a replica would fail with many retries.
    path = served_path(load_model(checkpoint.load(fetch(settings.checkpoint)), settings.beams, CPU))
    for name, address in settings.models.items():
        _require_budget(name, weights_bytes(fetch(find(address).checkpoint)), settings.model_memory_mib)
    engines.load(settings.recognition.engine).version(settings.recognition.settings)
    if settings.jobs:
        with contextlib.closing(Ledger.open(settings.jobs)) as ledger:
            ledger.check()
    if settings.review:
        ReviewStore.open(settings.review).close()
    if settings.keys:
        KeyStore.open(settings.keys).close()
    return path


def following(model: str, uri: str) -> Lookup | None:
    """Gives the version that `model` names at the time of the call; None if it always names the same one."""
    return partial(_version_now, stores.absolute(uri), model) if registered.has_alias(model) else None


def finder(uri: str) -> Find:
    """Gives the version that a model names at the time of the call."""
    return partial(_version_now, stores.absolute(uri))


def _version_now(uri: str, model: str) -> Version:
    name = registered.resolve(model, uri)
    return Version(name, registered.version_of(name))


def _named(models: Sequence[str]) -> dict[str, str]:
    """The models of `--model NAME=MODEL` by name; a folder as an absolute path. Raises InputError."""
    named: dict[str, str] = {}
    for given in models:
        name, equals, model = given.partition("=")
        if not (name and equals and model) or name in named:
            raise InputError(f"--model {given} must be NAME=MODEL, with a name that no other --model has")
        named[name] = model if model.startswith("models:/") else sources.absolute(model)
    return named


def _require_budget(name: str, weights: int, model_memory_mib: float) -> None:
    """Raise InputError when a model can never be loaded, because its weights (in bytes) are larger than the budget."""
    if weights > model_memory_mib * 2**20:
        raise InputError(
            f"the weights of model {name} take {weights / 2**20:.1f} MiB, and the models of --model may take "
            f"{model_memory_mib:g} MiB; give a larger --model-memory"
        )


def parse(arguments: Sequence[str] | None) -> ServeOptions:
    parser = options.parser("serve")
    options.add_checkpoint(parser)
    _add_models(parser)
    parser.add_argument(
        "--recipe",
        default="ingest-folder",
        help="ingest recipe whose section `recognition` says how files are read (default: %(default)s)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; 0.0.0.0 accepts connections from the network, and needs --keys or --open "
        "(default: %(default)s)",
    )
    parser.add_argument("--port", type=int, default=8000, help="port to listen on (default: %(default)s)")
    _add_replicas(parser)
    options.add_gpus(parser, "model replica")
    options.add_beams(parser)
    parser.add_argument(
        "--timeout", type=float, default=Limits().timeout_s, help="seconds per document (default: %(default)s)"
    )
    parser.add_argument(
        "--ocr-cache-seconds",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="keep the words of each page in memory for this time, so that a file that comes again is not read again "
        "(default: keep none)",
    )
    parser.add_argument(
        "--follow-every",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="seconds between looks at the version that models:/NAME@ALIAS names; another one is loaded and served "
        "without a restart (default: %(default)s)",
    )
    _add_jobs(parser)
    parser.add_argument(
        "--review",
        metavar="FILE",
        default="",
        help="show the page on which people see and correct answers at /, and keep their documents in this file "
        "(default: show none)",
    )
    _add_access(parser)
    options.add_tracking_uri(parser)
    options.add_recipe_options(parser)
    return options.parse(parser, arguments, ServeOptions)


def _add_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        dest="models",
        action="append",
        metavar="NAME=MODEL",
        default=[],
        help="serve another model too, at /v1/models/NAME/extract; it is loaded when a request asks for it; repeatable",
    )
    parser.add_argument(
        "--model-memory",
        type=float,
        metavar="MIB",
        default=MODEL_MEMORY_MIB,
        help="what the weights of these models may take in each model replica; to load one, those that were not used "
        "for the longest time are unloaded (default: %(default)s)",
    )


def _add_replicas(parser: argparse.ArgumentParser) -> None:
    for kind, task in (("ocr", "read pages"), ("model", "hold the models")):
        parser.add_argument(
            f"--{kind}-replicas", type=int, metavar="N", default=1, help=f"processes that {task} (default: %(default)s)"
        )
        parser.add_argument(
            f"--max-{kind}-replicas",
            type=int,
            metavar="N",
            default=None,
            help=f"start more of these processes, up to N, while pages wait for them (default: --{kind}-replicas)",
        )
    parser.add_argument(
        "--ingress-replicas",
        type=int,
        metavar="N",
        default=1,
        help="processes on the head node that receive requests (default: %(default)s)",
    )


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs",
        metavar="LEDGER",
        default="",
        help="take jobs at /v1/jobs, and keep them in this file, or in the database postgresql://USER@HOST/DATABASE, "
        "whose password is read from PGPASSWORD or ~/.pgpass (default: take none)",
    )
    parser.add_argument(
        "--keep-jobs",
        type=float,
        metavar="HOURS",
        default=Limits().keep_jobs_s / 3600,
        help="delete a job so long after its end (default: %(default)s)",
    )
    parser.add_argument(
        "--job-prefixes",
        nargs="+",
        metavar="ADDRESS",
        default=[],
        help="take jobs of the objects below these addresses, such as s3://bucket/scans (default: of uploaded files)",
    )
    parser.add_argument(
        "--webhook-hosts",
        nargs="+",
        metavar="HOST",
        default=[],
        help="hosts that a job may name to be told of its end (default: none)",
    )
    parser.add_argument(
        "--webhook-networks",
        nargs="+",
        metavar="NETWORK",
        default=[],
        help="networks, such as 10.1.0.0/16, in which these hosts may be although they are not public (default: none)",
    )


def _add_access(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--keys", metavar="FILE", default="", help="every request needs a key of this file (see `layoutray keys`)"
    )
    parser.add_argument("--open", action="store_true", help="accept connections from the network without keys")
    parser.add_argument(
        "--audit", metavar="FILE", default="", help="append a line of JSON for each document: who, what, outcome"
    )


def _absolute(file: str) -> str:
    """`file` for processes with another working folder; empty stays empty."""
    return str(Path(file).absolute()) if file else ""
