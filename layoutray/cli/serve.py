"""`layoutray serve`: answer documents over HTTP until Ctrl-C or SIGTERM."""

import argparse
import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass, replace
from functools import partial
from typing import Any, get_args, get_origin

from layoutray import checkpoint, config
from layoutray.cli.shared import options, terminal
from layoutray.cluster.connect import connect
from layoutray.cluster.endpoint.application import Application, build_app, running
from layoutray.cluster.endpoint.versions import Find, Lookup, Registry
from layoutray.devices import CPU
from layoutray.errors import InputError
from layoutray.ocr import engines
from layoutray.recipe.ingest import load_ingest
from layoutray.review.store import ReviewStore
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.limits import Limits
from layoutray.serving.model import Version, load_model, served_path, weights_bytes
from layoutray.serving.options import Option
from layoutray.serving.settings import ServeSettings
from layoutray.tracking import registered, stores

_ANY_HOST = "0.0.0.0"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = vars(parser().parse_args(arguments))
    if chosen["dry_run"]:
        recipe = load_ingest(chosen["recipe"], chosen["overrides"])
        return terminal.show_plan(recipe, {name: chosen[name] for name in ("checkpoint", "host", "port")})
    settings, registry = parts(chosen)
    path = check(settings, registry)
    key = '-H "Authorization: Bearer KEY" ' if settings.keys else ""
    with connect(), contextlib.suppress(KeyboardInterrupt):
        for number in (signal.SIGINT, signal.SIGTERM):  # after connecting, which installs Ray's own handlers
            signal.signal(number, signal.default_int_handler)
        with running(settings, registry=registry) as url:
            terminal.say(f"serving at {url} (API: {url}/docs); try: curl {key}-F file=@page.png {url}{path}")
            threading.Event().wait()
    terminal.say("stopped")
    return 0


def parts(chosen: Mapping[str, Any]) -> tuple[ServeSettings, Registry]:
    """The settings of the endpoint of the parsed options, and where its versions come from."""
    given = _given(ServeSettings, chosen)
    given |= {"checkpoint": chosen["checkpoint"]}
    given |= {"recognition": load_ingest(chosen["recipe"], chosen["overrides"]).recognition}
    given |= {"limits": Limits(**_given(Limits, chosen)), "models": _named(chosen["models"])}
    return _deployed(given, chosen["tracking_uri"])


def application(arguments: dict[str, Any]) -> Application:
    """The application for a Serve configuration file (`import_path`); its `args` are keys of `ServeSettings`.

    `checkpoint` may also be `models:/NAME@ALIAS`. `host` and `port` have no effect: the proxies of Serve listen where
    the configuration file states. It may be the network, so one of `keys` and `open` is needed.

    Raises:
        RecipeError: when a key is unknown or a value has the wrong type.
        InputError: when the registry does not have the model, or neither `keys` nor `open` is given.
    """
    return build_app(*_deployed({**arguments, "host": _ANY_HOST, "port": 0}, stores.default_uri()))


def _deployed(given: Mapping[str, Any], uri: str) -> tuple[ServeSettings, Registry]:
    """The settings of an endpoint for the processes of a cluster, and where its versions come from.

    Args:
        given: keys of `ServeSettings`, with paths from this folder.
        uri: of the MLflow server or store.
    """
    settings = config.build(ServeSettings, given).with_absolute_paths()
    name = registered.resolve(settings.checkpoint, uri)
    registry = Registry(registered.fetcher(uri), following(settings.checkpoint, uri), finder(uri))
    version = settings.model_version or registered.version_of(name)
    return replace(settings, checkpoint=name, model_version=version), registry


def check(settings: ServeSettings, registry: Registry) -> str:
    """Raise the error of a part that is broken or missing. Returns the path of the model's answers."""
    # Fail here with one clear line if OCR engine, checkpoint, ledger or key file is broken;
    # a replica would fail with many retries.
    path = served_path(load_model(checkpoint.load(registry.fetch(settings.checkpoint)), settings.beams, CPU))
    for name, address in settings.models.items():
        _require_budget(name, weights_bytes(registry.fetch(registry.find(address).checkpoint)), settings)
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
    """The models of `--model NAME=MODEL` by name. Raises InputError."""
    named: dict[str, str] = {}
    for given in models:
        name, equals, model = given.partition("=")
        if not (name and equals and model) or name in named:
            raise InputError(f"--model {given} must be NAME=MODEL, with a name that no other --model has")
        named[name] = model
    return named


def _require_budget(name: str, weights: int, settings: ServeSettings) -> None:
    """Raise InputError when a model can never be loaded, because its weights (in bytes) are larger than the budget."""
    if weights > settings.model_memory_mib * 2**20:
        raise InputError(
            f"the weights of model {name} take {weights / 2**20:.1f} MiB, and the models of --model may take "
            f"{settings.model_memory_mib:g} MiB; give a larger --model-memory"
        )


def parser() -> argparse.ArgumentParser:
    """The options of the verb."""
    made = options.parser("serve")
    options.add_checkpoint(made)
    made.add_argument(
        "--recipe",
        default="ingest-folder",
        help="ingest recipe whose section `recognition` says how files are read (default: %(default)s)",
    )
    for setting, option in _options(ServeSettings):
        _add(made, setting, option)
    options.add_tracking_uri(made)
    options.add_recipe_options(made)
    return made


def _options(kind: Any) -> Iterator[tuple[Field[Any], Option]]:
    """The settings of a dataclass, and of those in it, that have an option."""
    for setting in fields(kind):
        if option := Option.of(setting):
            yield setting, option
        elif is_dataclass(setting.type):
            yield from _options(setting.type)


def _given(kind: type[Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a dataclass, without those in it, from parsed options."""
    own = {setting.name for setting in fields(kind)}
    options_of = [(setting.name, option.unit) for setting, option in _options(kind) if setting.name in own]
    return {name: chosen[name] if unit == 1 else chosen[name] * unit for name, unit in options_of}


def _add(parser: argparse.ArgumentParser, setting: Field[Any], option: Option) -> None:
    """Add the option of a setting."""
    flag = option.flag or f"--{setting.name.replace('_', '-')}"
    if setting.type is bool:
        parser.add_argument(flag, dest=setting.name, action="store_true", help=option.help)
        return
    default: Any = setting.default
    values: dict[str, Any] = {"default": default if option.unit == 1 else default / option.unit}
    if get_origin(setting.type) is dict:
        values = {"action": "append", "default": []}
    elif get_origin(setting.type) is tuple:
        values["nargs"] = "+"
    parser.add_argument(
        flag,
        dest=setting.name,
        type=(get_args(setting.type) or (setting.type,))[0],
        help=option.help,
        metavar=option.metavar or flag.removeprefix("--").upper(),
        **values,
    )
