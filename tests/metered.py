"""Names of metrics: in a query, in Prometheus' text format, and those that a meter exports."""

import re
from typing import Any

from ray.util.metrics import Counter, Metric


def asked_for(query: str) -> set[str]:
    """Metrics in an expression of PromQL, ours and Ray's."""
    return set(re.findall(r"\b(?:ray|layoutray)_\w+", query))


_PARTS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}


def series(page: str) -> dict[str, str]:
    """Name of each series that `page` declares, and its type; of a histogram or summary the names of its parts."""
    found: dict[str, str] = {}
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", page, re.M):
        parts = _PARTS.get(kind, ("",))
        found |= {name + part: kind for part in parts}
    return found


def exported_by(meter: object) -> list[str]:
    """What Ray calls the metrics that `meter` holds."""
    return [
        f"ray_{metric.info['name']}{'_total' if isinstance(metric, Counter) else ''}"
        for metric in _metrics(vars(meter))
    ]


def _metrics(values: dict[str, Any]) -> list[Metric]:
    inside = [metric for value in values.values() if isinstance(value, dict) for metric in _metrics(value)]
    return inside + [value for value in values.values() if isinstance(value, Metric)]
