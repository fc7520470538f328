"""Metrics of versions: bounded in number, and those of a version that still answers stay."""

from prometheus_client.parser import text_string_to_metric_families

from layoutray.serving import examples
from layoutray.serving.schema import ExtractResponse, WarningResponse
from layoutray.serving.telemetry import Telemetry


def test_documents_with_other_words_are_counted() -> None:
    (answer,) = (body for body in examples.BODIES if isinstance(body, ExtractResponse))
    other = [WarningResponse(code="other_words", message="read by another engine")]
    telemetry = Telemetry()
    telemetry.document(answer)
    telemetry.document(answer.model_copy(update={"warnings": other}))
    labels = f'{{model="{answer.model_id}",version="{answer.model_version}"}}'
    assert f"layoutray_documents_total{labels} 2.0" in telemetry.exposition()
    assert f"layoutray_documents_with_other_words_total{labels} 1.0" in telemetry.exposition()


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
        (
            "layoutray_documents",
            "layoutray_documents_with_other_words",
            "layoutray_field_confidence",
            "layoutray_entity_confidence",
        ),
        kept,
    )
