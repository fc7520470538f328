"""The Kubernetes files, and what Kubernetes and KubeRay have to say of them."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
INFRA = REPOSITORY / "infra"

Manifest = dict[str, Any]


def manifests() -> dict[str, Manifest]:
    """Every object, by kind and name."""
    found = [
        one for file in sorted((INFRA / "kubernetes").glob("*.yaml")) for one in yaml.safe_load_all(file.read_text())
    ]
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in found}


def is_rays(manifest: Manifest) -> bool:
    return manifest["apiVersion"].startswith("ray.io/")


def below(value: Any, key: str) -> Iterator[Any]:
    """Everything that stands under `key`, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            yield from below(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from below(inner, key)


def pods(manifest: Manifest) -> Iterator[Manifest]:
    """Each pod template, as a pod."""
    for template in below(manifest, "template"):
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": template["spec"]}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, which refuses keys that it does not know: Kubernetes drops them and says nothing."""
    closed = copy.deepcopy(schema)
    _close(closed)
    return closed


def _close(schema: dict[str, Any]) -> None:
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
    inside = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for inner in inside:
        if isinstance(inner, dict):
            _close(inner)
