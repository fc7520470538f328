"""A real MLflow registry of small untrained models, whose versions a test makes, and whose alias it moves."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
from mlflow.tracking import MlflowClient

from layoutray.cli.shared.deployment import registry_for
from layoutray.document import Page
from layoutray.inference.extractor import Extractor
from layoutray.serving.settings import ServeSettings
from layoutray.tracking import registered
from tests.cluster.checkpoints import save_untrained
from tests.cluster.running_endpoint import serving
from tests.mlflow_store import new_store

_MODEL, _ALIAS = "forms", "champion"

Found = list[tuple[int, str, str]]
"""Page number, type and content of entities."""


@dataclass(frozen=True)
class Registry:
    """Versions of a model at `uri`; their files lie in folders below `root`."""

    uri: str
    root: Path

    @classmethod
    def new(cls, root: Path) -> "Registry":
        """A registry in folder `root`, whose alias names version 1."""
        registry = cls(new_store(root), root)
        registry.client.create_registered_model(_MODEL)
        registry.point(registry.add(seed=1))
        return registry

    @property
    def client(self) -> MlflowClient:
        return MlflowClient(tracking_uri=self.uri)

    def add(self, seed: int) -> str:
        """The number of a new version, whose weights `seed` selects; no alias names it yet."""
        return self.add_saved(partial(save_untrained, seed=seed))

    def add_saved(self, save: Callable[[Path], None]) -> str:
        """The number of a new version, whose checkpoint `save` writes into a folder; no alias names it yet."""
        folder = self.root / f"version-{len(list(self.root.glob('version-*'))) + 1}"
        save(folder)
        return str(self.client.create_model_version(_MODEL, str(folder)).version)

    def point(self, version: str) -> None:
        """Move the alias."""
        self.client.set_registered_model_alias(_MODEL, _ALIAS, version)

    def expected(self, version: str, pages: list[Page]) -> Found:
        """What a version finds in the pages."""
        found = Extractor.load(self.root / f"version-{version}").extract(pages)
        return [
            (page.number, entity.type, entity.content)
            for page, entities in zip(pages, found, strict=True)
            for entity in entities
        ]

    @contextmanager
    def serving(self, settings: ServeSettings) -> Iterator[httpx.Client]:
        """A client of an endpoint that follows the alias."""
        with serving(settings, registry_for(self.address, self.uri)) as client:
            yield client

    @property
    def address(self) -> str:
        return f"models:/{_MODEL}@{_ALIAS}"

    def start(self) -> dict[str, str]:
        """The settings of the version that the alias names now."""
        name = registered.resolve(self.address, self.uri)
        return {"checkpoint": name, "model_version": registered.version_of(name)}


def broken(folder: Path) -> None:
    """Save a checkpoint whose weights are cut."""
    save_untrained(folder)
    weights = folder / "model.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)


def too_large(folder: Path) -> None:
    """Save a checkpoint whose weights take 8 TiB, in a file with a hole, which takes no space."""
    save_untrained(folder)
    os.truncate(folder / "model.safetensors", 2**43)


def bomb(folder: Path) -> None:
    """Save a checkpoint whose labels take more than 2 GiB when they are read."""
    save_untrained(folder)
    (folder / "labels.json").write_text(f"[{','.join(['[{}]'] * 12_000_000)}]")


def panicking(folder: Path) -> None:
    """Save a checkpoint whose tokenizer makes its library panic."""
    save_untrained(folder)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text()) | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}}
    file.write_text(json.dumps(content))


def found_in(answer: dict[str, object]) -> Found:
    """The entities of an answer of the endpoint."""
    entities = answer["document"]["entities"]  # pyright: ignore[reportIndexIssue]
    return [(entity["bounding_regions"][0]["page_number"], entity["type"], entity["content"]) for entity in entities]
