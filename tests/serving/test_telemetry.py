"""Metrics of versions: bounded in number, and those of a version that still answers stay."""

from prometheus_client.parser import text_string_to_metric_families

from layoutray.serving import examples
from layoutray.serving.schema import ExtractResponse
from layoutray.serving.telemetry import Telemetry, merged


def test_the_version_that_answered_least_recently_loses_its_metrics() -> None:
    (answer,) = (body for body in examples.BODIES if isinstance(body, ExtractResponse))
    telemetry = Telemetry()
    for number in (*range(64), 0, 64):
        telemetry.document(answer.model_copy(update={"model_version": str(number)}))
    versions: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(telemetry.exposition()):
        for sample in family.samples:
            if "model" in sample.labels and not family.name.endswith("_created"):
                versions.setdefault(family.name, set()).add(sample.labels["version"])
    kept = {str(number) for number in range(65)} - {"1"}
    assert versions == dict.fromkeys(
        ("layoutray_documents", "layoutray_field_confidence", "layoutray_entity_confidence"), kept
    )


def test_metrics_of_several_processes_are_told_apart() -> None:
    processes = {0: Telemetry(), 1: Telemetry()}
    for number, telemetry in processes.items():
        for _ in range(number + 1):
            telemetry.page_failed("no_text")
    together = merged({number: telemetry.exposition() for number, telemetry in processes.items()})
    assert 'layoutray_failures_total{ingress="0",reason="no_text"} 1.0' in together
    assert 'layoutray_failures_total{ingress="1",reason="no_text"} 2.0' in together
    assert together.count("# TYPE layoutray_failures_total counter") == 1
    alone = merged({0: processes[0].exposition()})
    assert alone.replace('{ingress="0"}', "").replace('ingress="0",', "") == processes[0].exposition()
