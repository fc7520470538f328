"""`ray up` would take ray_cluster.yaml: checked by Ray's own schema, without a cloud."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import ValidationError
from ray.autoscaler._private.util import prepare_config, validate_config

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def cluster() -> dict[str, Any]:
    return yaml.safe_load((REPOSITORY / "ray_cluster.yaml").read_text())


def accept(cluster: dict[str, Any]) -> dict[str, Any]:
    complete = prepare_config(copy.deepcopy(cluster))
    validate_config(complete)
    return complete


def test_ray_accepts_the_file(cluster: dict[str, Any]) -> None:
    pools = accept(cluster)["available_node_types"]
    assert pools[cluster["head_node_type"]]["resources"]["CPU"] == 0, (
        "no work on the head: it holds the cluster's only record of itself"
    )
    assert pools["gpu"]["max_workers"] > 0
    assert pools["ocr"]["max_workers"] > 0


def test_workers_may_be_lost_and_reach_the_bucket(cluster: dict[str, Any]) -> None:
    pools = accept(cluster)["available_node_types"]
    assert pools["ocr"]["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
    assert {name for name, pool in pools.items() if "IamInstanceProfile" in pool["node_config"]} == {"ocr", "gpu"}


def test_every_start_asks_for_the_token_and_reads_the_settings(cluster: dict[str, Any]) -> None:
    commands = [
        command
        for part in ("head", "worker")
        for command in cluster[f"{part}_start_ray_commands"]
        if "ray start" in command
    ]
    assert len(commands) == 2
    mounted = cluster["file_mounts"]
    assert "~/.ray/auth_token" in mounted
    (settings,) = [target for target in mounted if target.endswith(".env")]
    for command in commands:
        assert "RAY_AUTH_MODE=token ray start" in command
        assert f"set -a && source {settings} &&" in command


def test_ray_refuses_a_misspelt_key(cluster: dict[str, Any]) -> None:
    cluster["idle_timeout_minute"] = 5
    with pytest.raises((ValidationError, ValueError)):
        accept(cluster)


def test_ray_refuses_a_pool_larger_than_its_limit(cluster: dict[str, Any]) -> None:
    cluster["available_node_types"]["gpu"]["min_workers"] = cluster["max_workers"] + 1
    with pytest.raises((ValidationError, ValueError)):
        accept(cluster)
