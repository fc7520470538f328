"""Generated EXAMPLES of any number, and what a training worker needs to read them: time, memory, tokens per second.

`python -m benchmarks.measure.feed FOLDER RUN` measures in a process of its own, so that its memory is that of a worker.
"""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from layoutray.batching.examples import ExampleSet
from layoutray.document.word_graph import MAX_NEIGHBOURS
from layoutray.store import example_files
from layoutray.store.example_files import ExampleFiles
from layoutray.store.schema import EXAMPLES
from layoutray.tensors import BOX_GRID
from layoutray.training.feed import BatchPlan, Feed

_ROWS_PER_FILE = 1 << 16
_VOCABULARY = 30_000


@dataclass(frozen=True)
class FeedRun:
    """How the feed is read.

    Attributes:
        batch_size: windows of a step; one worker reads all of them.
        shuffle_window: see `training.shuffle`.
        steps: measured steps, after a tenth as many that warm up.
    """

    batch_size: int
    shuffle_window: int
    steps: int


@dataclass(frozen=True)
class FeedCost:
    """What a worker needs.

    Attributes:
        first_step: seconds from opening the examples to the first batch.
        tokens_per_second: of the following steps, on one core.
        own: MiB of memory that belongs to the process alone, at the end.
        mapped: MiB of files mapped into memory, at the end; the system drops them when memory is short.
    """

    windows: int
    first_step: float
    tokens_per_second: float
    own: float
    mapped: float


def generate(folder: str, windows: int, tokens: int, seed: int = 0) -> None:
    """Write `windows` windows of `tokens` random tokens, one word each, as the files of a split."""
    random = np.random.default_rng(seed)
    blocks: list[pa.Table] = []
    for start in range(0, windows, _ROWS_PER_FILE):
        rows = min(_ROWS_PER_FILE, windows - start)
        blocks.append(example_files.write_shard(_table(start, rows, tokens, random), folder, f"part-{start:012}.arrow"))
    example_files.write_index(pa.concat_tables(blocks), folder)


def measure(folder: str, run: FeedRun) -> FeedCost:
    """Read the feed of the split in `folder` in a new process."""
    command = [sys.executable, "-m", __name__, folder, json.dumps(asdict(run))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return FeedCost(**json.loads(done.stdout))


def _table(start: int, rows: int, tokens: int, random: np.random.Generator) -> pa.Table:
    corners = np.sort(random.integers(0, BOX_GRID + 1, (rows * tokens, 2, 2), np.int16), axis=1)
    neighbours = random.integers(0, tokens, (rows * tokens, MAX_NEIGHBOURS), np.int16)
    numbers = np.arange(start, start + rows)
    columns = {
        "doc_id": [f"{number:064x}" for number in numbers],
        "page": np.ones(rows, np.int32),
        "window": np.zeros(rows, np.int32),
        "split": ["train"] * rows,
        "input_ids": _lists(pa.array(random.integers(10, _VOCABULARY, rows * tokens, np.int32)), tokens),
        "boxes": _lists(pa.FixedSizeListArray.from_arrays(corners.reshape(-1), 4), tokens),
        "word_index": _lists(pa.array(np.tile(np.arange(tokens, dtype=np.int32), rows)), tokens),
        "neighbours": _lists(pa.FixedSizeListArray.from_arrays(neighbours.reshape(-1), MAX_NEIGHBOURS), tokens),
        "page_width": np.full(rows, 600, np.int32),
        "page_height": np.full(rows, 800, np.int32),
        "labels": pa.nulls(rows, EXAMPLES.field("labels").type),
    }
    return pa.table(columns).cast(EXAMPLES)


def _lists(values: pa.Array, size: int) -> pa.LargeListArray:
    return pa.LargeListArray.from_arrays(np.arange(0, len(values) + 1, size), values)


def _measure_here(folder: str, run: FeedRun) -> FeedCost:
    started = time.perf_counter()
    examples = ExampleSet(ExampleFiles(folder))
    plan = BatchPlan(run.batch_size, run.batch_size, seed=1, shuffle_window=run.shuffle_window)
    feed = Feed(examples, lambda batch, _: batch, 0, plan)
    feed.training(0, 0, 1)
    first_step = time.perf_counter() - started
    warm_up = max(1, run.steps // 10)
    for step in range(1, warm_up):
        feed.training(step, 0, 1)
    started = time.perf_counter()
    tokens = sum(part.work.tokens for step in range(warm_up, warm_up + run.steps) for part in feed.training(step, 0, 1))
    speed = tokens / (time.perf_counter() - started)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own, mapped = (int(status[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))
    return FeedCost(len(examples), first_step, speed, own, mapped)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(_measure_here(sys.argv[1], FeedRun(**json.loads(sys.argv[2]))))))
