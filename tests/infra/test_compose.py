"""The compose file is consistent. No package has the schema of Compose, so the allowed keys are listed here."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.infra.manifests import INFRA

TEXT = (INFRA / "compose.yaml").read_text()
KNOWN = {"name", "services", "volumes"}
KNOWN_OF_A_SERVICE = {
    "build",
    "command",
    "depends_on",
    "entrypoint",
    "environment",
    "healthcheck",
    "image",
    "network_mode",
    "ports",
    "profiles",
    "restart",
    "shm_size",
    "volumes",
}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}


def faults(compose: dict[str, Any]) -> Iterator[str]:
    yield from (f"unknown key {key}" for key in compose.keys() - KNOWN)
    for name, service in compose["services"].items():
        yield from (f"{name}: unknown key {key}" for key in service.keys() - KNOWN_OF_A_SERVICE)
        yield from (f"{name}: {fault}" for fault in _faults_of(service, compose))


def _faults_of(service: dict[str, Any], compose: dict[str, Any]) -> Iterator[str]:
    for other, how in service.get("depends_on", {}).items():
        if other not in compose["services"] or how["condition"] not in CONDITIONS:
            yield f"waits for {other}: {how}"
        elif how["condition"] == "service_healthy" and "healthcheck" not in compose["services"][other]:
            yield f"{other} never says that it is healthy"
    for volume in service.get("volumes", []):
        source = volume.partition(":")[0]
        if source.startswith("./") and not (INFRA / source).is_file():
            yield f"no file {source}"
        if not source.startswith((".", "/")) and source not in compose["volumes"]:
            yield f"no volume {source}"
    for port in service.get("ports", []):
        if not port.startswith("${LISTEN:-127.0.0.1}:"):
            yield f"port {port} is open to everybody"
    if "build" in service and not (INFRA / service["build"]["context"] / service["build"]["dockerfile"]).is_file():
        yield f"nothing to build at {service['build']}"


@pytest.fixture
def compose() -> dict[str, Any]:
    return yaml.safe_load(TEXT)


def test_it_holds_together(compose: dict[str, Any]) -> None:
    assert list(faults(compose)) == []


def misspell(compose: dict[str, Any]) -> None:
    compose["services"]["mlflow"]["enviroment"] = {}


def wait_for_nobody(compose: dict[str, Any]) -> None:
    compose["services"]["mlflow"]["depends_on"]["database"] = {"condition": "service_healthy"}


def forget_a_volume(compose: dict[str, Any]) -> None:
    del compose["volumes"]["store"]


def forget_the_health(compose: dict[str, Any]) -> None:
    del compose["services"]["postgres"]["healthcheck"]


def mount_nothing(compose: dict[str, Any]) -> None:
    compose["services"]["grafana"]["volumes"].append("./monitoring/none.json:/none.json")


def open_a_port(compose: dict[str, Any]) -> None:
    compose["services"]["postgres"]["ports"] = ["5432:5432"]


@pytest.mark.parametrize(
    "spoil", [misspell, wait_for_nobody, forget_a_volume, forget_the_health, mount_nothing, open_a_port]
)
def test_a_mistake_is_found(spoil: Callable[[dict[str, Any]], None], compose: dict[str, Any]) -> None:
    whole = copy.deepcopy(compose)
    spoil(whole)
    assert len(list(faults(whole))) == 1


def test_no_password_stands_in_the_file() -> None:
    for name in ("POSTGRES_PASSWORD", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert re.findall(rf"{name}: (.*)", TEXT) == ["${" + name + ":?choose one}"]
