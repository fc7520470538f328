"""Metrics for Prometheus. Ray exports them at the metrics port of each node, with the prefix `ray_`."""

from collections.abc import Mapping, Sequence

from ray.util.metrics import Counter, Gauge

from layoutray.training.reporter import Reporter


class IngestMeter:
    """Pages and dead letters of an ingest, counted by its driver, so that a page that Ray repeats counts once."""

    def __init__(self) -> None:
        self._pages = Counter("layoutray_ingest_pages", "Pages done, failed ones included")
        self._dead = Counter("layoutray_ingest_dead_letters", "Documents and pages that failed, by reason", ("reason",))
        self._waiting = Gauge("layoutray_ingest_pages_waiting", "Pages still to do")

    def dead(self, reasons: Sequence[str]) -> None:
        for reason in reasons:
            self._dead.inc(tags={"reason": reason})

    def done(self, pages: int, *, waiting: int) -> None:
        if pages:
            self._pages.inc(pages)
        self._waiting.set(waiting)


class TrainingMeter(Reporter):
    """A reporter for rank 0: training speed and loss."""

    def __init__(self, recipe: str) -> None:
        self._recipe = {"recipe": recipe}
        self._gauges = {
            "tokens_per_second": Gauge("layoutray_training_tokens_per_second", "Tokens of all workers", ("recipe",)),
            "loss": Gauge("layoutray_training_loss", "Loss of the last step", ("recipe",)),
        }

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for name in self._gauges.keys() & values.keys():
            self._gauges[name].set(values[name], tags=self._recipe)
