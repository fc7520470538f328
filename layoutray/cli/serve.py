"""`layoutray serve`: answer documents over HTTP until Ctrl-C or SIGTERM."""

import argparse
import contextlib
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import RecipeOptions, option
from layoutray.errors import InputError
from layoutray.recipe.ingest import load_ingest
from layoutray.serving.limits import Limits
from layoutray.serving.settings import ServeSettings

if TYPE_CHECKING:
    from layoutray.cluster.endpoint.application import Application
    from layoutray.cluster.endpoint.versions import Registry

_ANY_HOST = "0.0.0.0"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = vars(parser().parse_args(arguments))
    # Imported here because Ray and PyTorch take seconds, for which `--help` shall not wait.
    from layoutray.cli.shared import deployment
    from layoutray.cluster.connect import connect
    from layoutray.cluster.endpoint.application import running
    from layoutray.cluster.endpoint.listener import Address

    settings, registry = parts(chosen)
    Address(settings.host, settings.port).require_free()
    path = deployment.path_of(settings, registry)
    if chosen["dry_run"]:
        recipe = load_ingest(chosen["recipe"], chosen["overrides"])
        plan = {"checkpoint": settings.checkpoint, "host": settings.host, "port": settings.port, "path": path}
        return terminal.show_plan(recipe, plan)
    deployment.check(settings, registry)
    os.umask(0o077)  # files of this process and of a Ray that it starts hold documents, keys and Ray's token
    key = '-H "Authorization: Bearer KEY" ' if settings.keys else ""
    with connect(), contextlib.suppress(KeyboardInterrupt):
        for number in (signal.SIGINT, signal.SIGTERM):  # after connecting, which installs Ray's own handlers
            signal.signal(number, signal.default_int_handler)
        with running(settings, registry=registry) as url:
            terminal.say(f"serving at {url} (API: {url}/docs); try: curl {key}-F file=@page.png {url}{path}")
            threading.Event().wait()
    terminal.say("stopped")
    return 0


def parts(chosen: Mapping[str, Any]) -> "tuple[ServeSettings, Registry]":
    """The settings of the endpoint of the parsed options, and where its versions come from."""
    from layoutray.cli.shared import deployment

    given, limits = ({name: chosen[name] for name in options.declared(kind)} for kind in (ServeSettings, Limits))
    given |= {"checkpoint": chosen["checkpoint"], "limits": Limits(**limits)}
    given |= {"recognition": load_ingest(chosen["recipe"], chosen["overrides"]).recognition}
    given |= {"models": _named(chosen["models"], "--model"), "routes": _named(chosen["routes"], "--route")}
    return deployment.deployed(given, chosen["tracking_uri"])


def application(arguments: dict[str, Any]) -> "Application":
    """The application for a Serve configuration file (`import_path`); its `args` are keys of `ServeSettings`.

    `checkpoint` may also be `models:/NAME@ALIAS`. `host` and `port` have no effect: the proxies of Serve listen where
    the configuration file states. It may be the network, so one of `keys` and `open` is needed.

    Raises:
        RecipeError: when a key is unknown or a value has the wrong type.
        InputError: when the registry does not have the model, or neither `keys` nor `open` is given.
    """
    from layoutray.cli.shared import deployment
    from layoutray.cluster.endpoint.application import build_app
    from layoutray.tracking import stores

    return build_app(*deployment.deployed({**arguments, "host": _ANY_HOST, "port": 0}, stores.default_uri()))


def _named(pairs: Sequence[str], flag: str) -> dict[str, str]:
    """The values of `--model NAME=MODEL` or `--route KIND=NAME`. Raises InputError."""
    named: dict[str, str] = {}
    for given in pairs:
        name, equals, value = given.partition("=")
        if not (name and equals and value) or name in named:
            form = "NAME=MODEL, with a name" if flag == "--model" else "KIND=NAME, with a kind"
            raise InputError(f"{flag} {given} must be {form} that no other {flag} has")
        named[name] = value
    return named


def parser() -> argparse.ArgumentParser:
    declared = {
        "checkpoint": options.checkpoint(),
        "recipe": option(
            "--recipe",
            default="ingest-folder",
            help="ingest recipe whose section `recognition` says how files are read (default: %(default)s)",
        ),
        **options.declared(ServeSettings),
        **options.declared(Limits),
        "tracking_uri": options.tracking_uri(),
        **options.declared(RecipeOptions),
    }
    return options.parser("serve", declared)
