"""A small untrained extractor: its answers mean nothing, and are the same every time."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from layoutray import checkpoint, tokenizer
from layoutray.checkpoint import Checkpoint
from layoutray.recipe import recipes
from layoutray.synthetic.render import render_page
from layoutray.tokenizer import Tokenizer

LABELS = ("O", "B-date", "I-date", "B-total", "I-total")


@cache
def _vocabulary() -> Tokenizer:
    words = [word["text"] for number in range(10) for word in render_page(Random(number))[1]["words"]]
    return tokenizer.train_wordpiece(words, 500)


def save_untrained(
    folder: Path,
    *,
    seed: int = 42,
    metrics: Mapping[str, float] = {},
    labels: tuple[str, ...] = LABELS,
    **task: Any,
) -> None:
    """Write the checkpoint of a tiny Skimformer that tags dates and totals.

    Args:
        seed: of its weights.
        metrics: of its evaluation.
        labels: of its outputs.
        task: further keys of [task].
    """
    chosen = recipes.from_dict(
        {
            "name": "untrained",
            "task": {"name": "entities", **task},
            "train": {"steps": 1},
            "model": {"arch": "skimformer", "size": "tiny"},
            "max_length": 128,
            "seed": seed,
        }
    )
    vocabulary = _vocabulary()
    model = checkpoint.build_model(chosen, vocabulary, labels)
    checkpoint.save(
        folder,
        Checkpoint(
            recipe=chosen, labels=labels, tokenizer=vocabulary, model=model, metrics=dict(metrics), provenance={}
        ),
    )
