"""Metrics of the endpoint in the Prometheus text format."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from layoutray.document.signals import Observed
from layoutray.errors import ApiError
from layoutray.review.promise import Promise
from layoutray.serving.capacity import Capacity
from layoutray.serving.drift_file import DriftFile
from layoutray.serving.model import ModelDescription
from layoutray.serving.schema import ExtractResponse, SummarizeResponse

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_MOST_VERSIONS = 64
"""Versions with metrics of their own, of all models. Those of the version that answered least recently are removed."""
_CLIENT_GONE = 499
"""Status counted when the client disconnects before the answer; it is never sent."""


class Telemetry:
    """Metrics of one endpoint since its start. `drift` has the evidence that documents have changed."""

    def __init__(self, drift: DriftFile | None = None) -> None:
        self._registry = CollectorRegistry()
        about: Mapping[str, Any] = {"namespace": "layoutray", "registry": self._registry}
        counter, summary, gauge = partial(Counter, **about), partial(Summary, **about), partial(Gauge, **about)
        histogram = partial(Histogram, buckets=_SECONDS, **about)
        version = ["model", "version"]
        self._requests = counter("requests", "Documents by HTTP status", ["status"])
        self._failures = counter("failures", "Refused documents and failed pages by reason", ["reason"])
        self._pages = counter("pages", "Pages by outcome", ["outcome"])
        self.kept = counter("pages_kept", "Pages whose words were read a short time before")
        self._versions = counter("versions", "Versions of the model that were asked for, by outcome", ["outcome"])
        self._served = gauge("model_version", "1 for the served version of a model", version)
        self._documents = counter("documents", "Answered documents", version)
        confidence = "Confidence of the values of fields"
        self._values = summary("field_confidence", confidence, [*version, "field", "accepted"])
        self._entities = summary("entity_confidence", "Confidence of entities", [*version, "type"])
        self._other_words = counter(
            "documents_with_other_words",
            "Answered documents with words of another source or other settings than the model has learnt from",
            version,
        )
        self._reviews = counter(
            "documents_drawn_for_review", "Answered documents that were drawn for the review page", ["outcome"]
        )
        self._drift = gauge(
            "drift_evidence",
            "Evidence of a signal, or under an empty name of all, that documents have changed",
            [*version, "signal"],
        )
        self._monitors = drift or DriftFile()
        self._versions_answered: dict[tuple[str, str], None] = {}
        self._in_flight = gauge("requests_in_flight", "Documents in flight")
        self._replicas = gauge("replicas", "Replicas that run", ["kind"])
        self._request_seconds = histogram("request_seconds", "Time from request to answer of a document")
        self.ocr_seconds = histogram("ocr_seconds", "Time to read the words of a page")
        self._model_seconds = histogram("model_seconds", "Time of one model batch")
        self._queue_seconds = histogram("queue_seconds", "Time a page or document waited for a replica")
        sizes = (1, 2, 4, 8, 16, 32, 64)
        self._batch_pages = histogram("batch_pages", "Pages or documents in a model batch", buckets=sizes)

    def count_replicas(self, capacity: Capacity) -> None:
        self._replicas.labels("ocr").set_function(lambda: capacity.readers)
        self._replicas.labels("model").set_function(lambda: capacity.models)

    def show_promises(self, promises: Callable[[], Sequence[Promise]]) -> None:
        """Show what is promised of accepted answers, as it is at each time."""
        self._registry.register(_Promises(promises))

    @contextmanager
    def request(self) -> Generator[None]:
        """Count one document and its HTTP status; its processing is the body of the `with` block."""
        started, status = time.perf_counter(), _CLIENT_GONE
        self._in_flight.inc()
        try:
            yield
            status = 200
        except ApiError as failure:
            status = failure.status
            self._failures.labels(failure.code).inc()
            raise
        finally:
            self._in_flight.dec()
            self._requests.labels(str(status)).inc()
            self._request_seconds.observe(time.perf_counter() - started)

    def refused(self, refusal: ApiError) -> None:
        """Count a request that was refused for its key."""
        self._requests.labels(str(refusal.status)).inc()
        self._failures.labels(refusal.code).inc()

    def answered(self, model_seconds: float, batch_size: int, queue_seconds: float, *, pages: int = 1) -> None:
        self._pages.labels("answered").inc(pages)
        self._model_seconds.observe(model_seconds)
        self._batch_pages.observe(batch_size)
        self._queue_seconds.observe(queue_seconds)

    def document(self, answer: ExtractResponse | SummarizeResponse) -> None:
        """Count an answered document with the confidences of its fields and entities, by model and version.

        Fields and types are those of the model, so their number is bounded.
        """
        version = (answer.model_id, answer.model_version)
        self._versions_answered.pop(version, None)
        self._versions_answered[version] = None  # the last one
        if len(self._versions_answered) > _MOST_VERSIONS:
            oldest = next(iter(self._versions_answered))
            del self._versions_answered[oldest]
            self._monitors.forget(oldest)
            for metric in (self._documents, self._other_words, self._values, self._entities, self._drift):
                metric.remove_by_labels(dict(zip(("model", "version"), oldest, strict=True)))
        self._documents.labels(*version).inc()
        self._other_words.labels(*version).inc(bool(answer.warnings))
        if isinstance(answer, ExtractResponse):
            for field in answer.document.fields:
                accepted = str(field.accepted).lower()
                self._values.labels(*version, field.name, accepted).observe(field.confidence)
            for entity in answer.document.entities:
                self._entities.labels(*version, entity.type).observe(entity.confidence)

    def observed(self, document: Observed, model: ModelDescription) -> None:
        """Compare an answered document with earlier ones of the version, and with those on which it was measured."""
        test = self._monitors.add(document, model)
        for signal, evidence in {"": test.evidence, **test.evidence_of()}.items():
            self._drift.labels(model.model_id, model.model_version, signal).set(evidence)

    def drawn_for_review(self, outcome: str) -> None:
        """Count a document: `stored`, `failed`, or `left_out` because too many waited for the review file."""
        self._reviews.labels(outcome).inc()

    def page_failed(self, reason: str) -> None:
        self._pages.labels("failed").inc()
        self._failures.labels(reason).inc()

    def served(self, version: ModelDescription, former: ModelDescription | None) -> None:
        """Count a version that is served from now on. `former`: which was served before; None if there was none."""
        self.version("served")
        if former:
            self._served.remove(former.model_id, former.model_version)
        self._served.labels(version.model_id, version.model_version).set(1)

    def version(self, outcome: str) -> None:
        """Count the outcome of a version: `served`, why it was refused, or `unknown` when the registry names none."""
        self._versions.labels(outcome).inc()

    def exposition(self) -> str:
        return generate_latest(self._registry).decode()


class _Promises(Collector):
    """The promises of each field, and of all fields under an empty name."""

    def __init__(self, promises: Callable[[], Sequence[Promise]]) -> None:
        self._promises = promises

    def describe(self) -> list[GaugeMetricFamily]:
        return []  # else the registry would ask for the promises at the start

    def collect(self) -> Iterator[GaugeMetricFamily]:
        shown = GaugeMetricFamily(
            "layoutray_promised_precision",
            "Share of accepted answers that are right, as reviews show",
            labels=["field"],
        )
        needed = GaugeMetricFamily(
            "layoutray_promise_needs", "Right answers that would raise the promise", labels=["field"]
        )
        for one in self._promises():
            shown.add_metric([one.field], one.shown)
            needed.add_metric([one.field], one.needed)
        yield from (shown, needed)
