"""The dashboard asks for metrics that exist, and Prometheus looks where they are."""

import json
import re
from pathlib import Path
from typing import Any

import ray
import yaml
from ray._private.ray_constants import PROMETHEUS_SERVICE_DISCOVERY_FILE

from layoutray.cluster.meters import IngestMeter, TrainingMeter
from layoutray.serving.telemetry import Telemetry
from tests.infra.manifests import INFRA, manifests
from tests.metered import asked_for, exported_by, series

DASHBOARD = json.loads((INFRA / "monitoring" / "dashboard.json").read_text())


def queries() -> list[tuple[str, str]]:
    """(expression, legend) of every line that is drawn."""
    return [(target["expr"], target["legendFormat"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]


def rays() -> str:
    """Where Ray defines and draws its own metrics."""
    folder = Path(ray.__file__).parent / "dashboard" / "modules"
    files = [folder / "reporter" / "reporter_agent.py", *(folder / "metrics" / "dashboards").glob("*.py")]
    return "".join(file.read_text() for file in files)


def test_every_metric_of_the_dashboard_exists() -> None:
    known = {
        *exported_by(IngestMeter()),
        *exported_by(TrainingMeter("any")),
        *series(Telemetry().exposition()),
    }
    text = rays()
    names = {name for query, _ in queries() for name in asked_for(query)}
    assert len(names) > 15
    unknown = {
        name
        for name in names
        if name not in known and not re.search(rf'"{name.removeprefix("ray_")}"|\b{name}\b', text)
    }
    assert unknown == set()


def test_a_metric_that_nobody_exports_is_found() -> None:
    assert asked_for("rate(layoutray_none_total[1m]) / ray_node_none") == {"layoutray_none_total", "ray_node_none"}
    assert not {"layoutray_none_total", "ray_node_none"} & set(series(Telemetry().exposition()))
    assert "ray_node_none" not in rays()


def test_all_that_our_meters_count_is_drawn() -> None:
    names = {name for query, _ in queries() for name in asked_for(query)}
    assert {*exported_by(IngestMeter()), *exported_by(TrainingMeter("any"))} <= names


def test_a_line_is_named_by_labels_that_its_query_keeps() -> None:
    for query, legend in queries():
        kept, *others = re.findall(r"by \(([^)]*)\)", query) or [""]
        assert set(others) <= {kept} or "group_left" in query, "the result has the labels of the left side"
        assert set(re.findall(r"{{(\w+)}}", legend)) <= set(kept.split(", ")), query


def targets(file: str, job: str) -> dict[str, Any]:
    (found,) = [
        one
        for one in yaml.safe_load((INFRA / "monitoring" / file).read_text())["scrape_configs"]
        if one["job_name"] == job
    ]
    return found


def test_prometheus_looks_where_ray_and_the_endpoint_are() -> None:
    assert targets("prometheus.yml", "ray")["file_sd_configs"] == [
        {"files": [f"/tmp/ray/{PROMETHEUS_SERVICE_DISCOVERY_FILE}"]}
    ]
    (service,) = [one for one in manifests().values() if one["kind"] == "RayService"]
    endpoint = targets("prometheus-kubernetes.yml", "endpoint")["static_configs"]
    assert endpoint == [{"targets": [f"{service['metadata']['name']}-serve-svc:8000"]}]
    keep = targets("prometheus-kubernetes.yml", "ray")["relabel_configs"][0]
    assert keep["action"] == "keep"
    assert len(keep["source_labels"]) == len(keep["regex"].split(";"))
