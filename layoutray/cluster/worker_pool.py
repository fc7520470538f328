"""Ray actors that process packed records in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import ActorPoolStrategy
from ray.exceptions import RayTaskError

from layoutray.errors import LayoutrayError
from layoutray.prepare import record_codecs
from layoutray.store.spilled import SpilledList

_RECORDS_PER_WORKER = 1000
"""Records of one wave, for each worker. Ray holds one wave at a time, and starts its workers for each wave."""
_SMALLEST_WAVE = 32_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPool:
    """Actors of one class. An actor takes a table of packed records and yields tables.

    Attributes:
        actor: its class.
        arguments: arguments of its constructor.
        workers: number of actors.
        batch_size: largest number of records of one call.
        deadline: seconds that an actor may need for one record.
    """

    actor: type
    arguments: dict[str, Any]
    workers: int
    batch_size: int
    deadline: float

    def map(self, records: SpilledList[Any]) -> Iterator[pa.Table]:
        """The actors' tables, in any order. Raises the LayoutrayError or OSError that an actor raises."""
        packed, left = records.packed(), len(records)
        while left:
            wave = min(left, max(_SMALLEST_WAVE, _RECORDS_PER_WORKER * self.workers))
            sizes = batch_sizes(wave, self.workers, self.batch_size)
            yield from self._map_wave([record_codecs.to_table(islice(packed, size)) for size in sizes])
            left -= wave

    def _map_wave(self, batches: Sequence[pa.Table]) -> Iterator[pa.Table]:
        source = ray.data.from_blocks(list(batches))
        # Ray hands on each row of an actor at once: for the progress bar, and because Ray ends a job without progress.
        source.context.target_max_block_size = 1
        source.context.execution_no_progress_timeout_s += self.deadline
        mapped = source.map_batches(
            self.actor,
            batch_size=None,
            batch_format="pyarrow",
            zero_copy_batch=True,
            fn_constructor_kwargs=self.arguments,
            compute=ActorPoolStrategy(size=min(self.workers, len(batches)), max_tasks_in_flight_per_actor=2),
            num_cpus=0.9,
        )
        try:
            yield from mapped.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
        except RayTaskError as error:
            if isinstance(error.cause, LayoutrayError | OSError):
                raise error.cause from None
            raise


def batch_sizes(count: int, workers: int, largest: int) -> Iterator[int]:
    """Sizes of batches with `count` records together. They decrease to 1, so that all workers finish together."""
    while count:
        size = min(largest, max(1, count // (3 * workers)))
        yield size
        count -= size
