"""An endpoint before it starts: its settings for the processes of a cluster, its versions, and a check of its parts."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from layoutray import checkpoint, config
from layoutray.cluster.endpoint.versions import Registry
from layoutray.devices import CPU
from layoutray.document.tags import kind_of
from layoutray.errors import InputError
from layoutray.ocr import engines
from layoutray.review.store import ReviewStore
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.model import Version, load_model, served_path, weights_bytes
from layoutray.serving.settings import ServeSettings
from layoutray.tasks import LabelsPages, ReadsNames, TagsWords, fields_of
from layoutray.tracking import registered, stores


def deployed(given: Mapping[str, Any], uri: str) -> tuple[ServeSettings, Registry]:
    """Settings of an endpoint from keys with paths from this folder, and where its versions come from."""
    settings = config.build(ServeSettings, given).with_absolute_paths()
    name = registered.resolve(settings.checkpoint, uri)
    version = settings.model_version or registered.version_of(name)
    return replace(settings, checkpoint=name, model_version=version), registry_for(settings.checkpoint, uri)


def path_of(settings: ServeSettings, registry: Registry) -> str:
    """The path of the model's answers.

    Raises the error of a checkpoint that is broken, missing or answers nothing, and InputError for a route of a kind
    that no model of pages finds, or to a model that extracts nothing.
    """
    default = checkpoint.load(registry.fetch(settings.checkpoint))
    kinds = set[str]()
    for name, address in {"": "", **settings.models}.items() if settings.routes else ():
        loaded = checkpoint.load(registry.fetch(registry.find(address).checkpoint)) if name else default
        task = loaded.recipe.task
        if isinstance(task, LabelsPages):
            kinds |= {kind_of(label) for label in loaded.labels}
        extracts = (isinstance(task, TagsWords) or fields_of(task)) and not isinstance(task, LabelsPages | ReadsNames)
        if name in settings.routes.values() and not extracts:
            raise InputError(
                f"routes name model {name} of task {task.name}, which extracts nothing from documents without more "
                "parameters; route to a model that finds entities or fields"
            )
    if unknown := sorted(settings.routes.keys() - kinds):
        found = ", ".join(sorted(kinds)) or "none, because none is of task page_labels"
        raise InputError(f"routes name the kinds {', '.join(unknown)}; the models find {found}")
    return served_path(load_model(default, settings.beams, CPU))


def check(settings: ServeSettings, registry: Registry) -> None:
    """Raise the error of a part other than the checkpoint that is broken or missing. Creates ledger and review file."""
    # Fail here with one clear line if OCR engine, ledger or key file is broken; a replica would fail with many retries.
    for name, address in settings.models.items():
        weights = weights_bytes(registry.fetch(registry.find(address).checkpoint))
        if weights > settings.model_memory_mib * 2**20:  # it can never be loaded
            raise InputError(
                f"the weights of model {name} take {weights / 2**20:.1f} MiB, and the models of --model may take "
                f"{settings.model_memory_mib:g} MiB; give a larger --model-memory"
            )
    engines.load(settings.recognition.engine).version(settings.recognition.settings)
    if settings.jobs:
        with contextlib.closing(Ledger.open(settings.jobs)) as ledger:
            ledger.check()
    if settings.review:
        ReviewStore.open(settings.review).close()
    if settings.keys:
        KeyStore.open(settings.keys).close()


def registry_for(model: str, uri: str) -> Registry:
    """The registry at `uri`, for an endpoint whose default model is `model`, which it follows if that has an alias."""
    find = partial(_version_now, stores.absolute(uri))
    return Registry(registered.fetcher(uri), partial(find, model) if registered.has_alias(model) else None, find)


def _version_now(uri: str, model: str) -> Version:
    name = registered.resolve(model, uri)
    return Version(name, registered.version_of(name))
