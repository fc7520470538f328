"""What Prometheus learns of jobs: counts that Ray exports at the metrics port of each node, under these names with `ray_` before."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ray.util.metrics import Counter, Gauge


class IngestMeter:
    """Pages and dead letters of an ingest, counted in its driver: a page that Ray repeats is one page."""

    def __init__(self) -> None:
        self._pages = Counter("layoutray_ingest_pages", "Pages done, failed ones included")
        self._dead = Counter("layoutray_ingest_dead_letters", "Documents and pages that failed, by reason", ("reason",))
        self._waiting = Gauge("layoutray_ingest_pages_waiting", "Pages still to do")

    def dead(self, reasons: Sequence[str]) -> None:
        """Documents or pages became dead letters, each for its reason."""
        for reason in reasons:
            self._dead.inc(tags={"reason": reason})

    def done(self, pages: int, *, waiting: int) -> None:
        """So many more pages are done, `waiting` are left."""
        if pages:
            self._pages.inc(pages)
        self._waiting.set(waiting)


class TrainingMeter:
    """A reporter for rank 0: exports training speed and loss."""

    def __init__(self, recipe: str) -> None:
        self._recipe = {"recipe": recipe}
        self._shown = {
            "tokens_per_second": Gauge("layoutray_training_tokens_per_second", "Tokens of all workers", ("recipe",)),
            "loss": Gauge("layoutray_training_loss", "Loss of the last step", ("recipe",)),
        }

    def start(self, step: int, steps: int) -> None:
        """Nothing to show before the first step."""

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        for name in self._shown.keys() & values.keys():
            self._shown[name].set(values[name], tags=self._recipe)

    def saved(self, step: int, folder: Path | None) -> None:
        """Nothing to show: states hold no metrics."""
