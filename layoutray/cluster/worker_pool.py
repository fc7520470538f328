"""Ray actors that process packed records in batches."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
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


def map_records(
    records: SpilledList[Any],
    actor: type,
    arguments: Mapping[str, Any],
    *,
    workers: int,
    batch_size: int,
    deadline: float,
) -> Iterator[pa.Table]:
    """The tables that actors yield for batches of records, in any order.

    Args:
        actor: class of the actors. It is called with a table of packed records and yields tables, or returns one.
        arguments: arguments of its constructor.
        batch_size: largest number of records of one call.
        deadline: seconds that an actor may need for one record.

    Raises:
        LayoutrayError: as an actor raises it; also OSError.
    """
    packed, left = records.packed(), len(records)
    while left:
        wave = min(left, max(_SMALLEST_WAVE, _RECORDS_PER_WORKER * workers))
        batches = [record_codecs.to_table(islice(packed, size)) for size in batch_sizes(wave, workers, batch_size)]
        left -= wave
        source = ray.data.from_blocks(batches)
        # Ray hands on each row of an actor at once: for the progress bar, and because Ray ends a job without progress.
        source.context.target_max_block_size = 1
        source.context.execution_no_progress_timeout_s += deadline
        mapped = source.map_batches(
            actor,
            batch_size=None,
            batch_format="pyarrow",
            zero_copy_batch=True,
            fn_constructor_kwargs=dict(arguments),
            compute=ActorPoolStrategy(size=min(workers, len(batches)), max_tasks_in_flight_per_actor=2),
            num_cpus=0.9,
        )
        with own_errors():
            yield from mapped.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)


@contextmanager
def own_errors() -> Generator[None]:
    """Raise the LayoutrayError or OSError that a task or actor has raised, instead of Ray's error about it."""
    try:
        yield
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
