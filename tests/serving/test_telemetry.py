"""Metrics of versions: bounded in number, and those of a version that still answers stay."""

from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.signals import Observed, Reference
from layoutray.metrics.drift import FALSE_ALARM_EVERY
from layoutray.serving import examples
from layoutray.serving.answer import DocumentAnswer, observed
from layoutray.serving.model import ModelDescription
from layoutray.serving.schema import ExtractResponse, WarningResponse
from layoutray.serving.submission import UploadedFile
from layoutray.serving.telemetry import Telemetry
from tests.serving.in_process import PLAIN


def _page(number: int, words: str = "total of the bill") -> Page:
    """A page of its own height."""
    made = tuple(Word(text=word, box=Box(0.1, 0.1, 0.2, 0.2)) for word in words.split())
    origin = Provenance(words="ocr", reason="")
    return Page(
        doc_id="",
        number=1,
        width=100,
        height=100 + number,
        words=made,
        source="",
        image="",
        split="",
        provenance=origin,
    )


def test_changed_documents_raise_the_evidence_of_their_signal() -> None:
    (answer,) = (body for body in examples.BODIES if isinstance(body, ExtractResponse))
    telemetry, sent = Telemetry(), UploadedFile("", "", b"")

    def shown(page: Page, model: ModelDescription) -> Observed:
        return observed(DocumentAnswer(sent, answer, [page]), model)

    reference = Reference.of([shown(_page(number), PLAIN) for number in range(60)])
    model = replace(PLAIN, reference=reference.to_json())

    def evidence() -> dict[str, float]:
        families = text_string_to_metric_families(telemetry.exposition())
        (found,) = (one for one in families if one.name == "layoutray_drift_evidence")
        return {sample.labels["signal"]: sample.value for sample in found.samples}

    for number in range(30):
        telemetry.observed(shown(_page(number), model), model)
    assert evidence()[""] < FALSE_ALARM_EVERY
    for number in range(30):
        telemetry.observed(shown(_page(number, "Summe der Rechnung"), model), model)
    found = evidence()
    assert found[""] > FALSE_ALARM_EVERY
    assert max(found, key=lambda name: found[name]).startswith("unseen")
    assert {f"value of {one.name}" for one in answer.document.fields} <= found.keys()
    named = shown(_page(1), replace(model, by_name=True))
    assert not any(name.startswith("value of") for name in named.numbers), "each request names its own fields"


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
        of_version = answer.model_copy(update={"model_version": str(number)})
        telemetry.document(of_version)
        of_page = Observed.of([_page(number)], [])
        telemetry.observed(of_page, replace(PLAIN, model_id=answer.model_id, model_version=str(number)))
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
            "layoutray_drift_evidence",
            "layoutray_field_confidence",
            "layoutray_entity_confidence",
        ),
        kept,
    )
