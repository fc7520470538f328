"""Checkpoints with random weights, exported by the command, and a page to try them on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from layoutray import checkpoint, tokenizer
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.cli.main import main
from layoutray.document import Box, Page, Provenance, Word
from layoutray.recipe import recipes
from layoutray.tensors import Batch
from tests.jobs import vocabulary
from tests.releases.release import write_byte_pairs

WORDS = ("Total", "12.50", "date", "Straße,", "No.7", "cash")
BOXES = ((0, 0, 1000, 1000), (0, 17, 333, 42), (501, 17, 999, 42), (3, 700, 3, 701), (90, 90, 91, 600), (1, 2, 3, 4))
SIZE = (600, 800)
LABELS = ("O", "B-date", "I-date", "B-total", "I-total")
ENTITIES = {
    "name": "entities",
    "fields": {"date": {"type": "date"}, "total": {"type": "amount"}},
}
METRICS = {"step": 20.0, "dev.f1": 0.75, "dev.precision": 0.8, "dev.recall": 0.7, "dev.ece": 0.03, "dev.loss": 1.5}


def page() -> Page:
    placed = tuple(
        Word(text=text, box=Box(*(side / 1000 for side in box))) for text, box in zip(WORDS, BOXES, strict=True)
    )
    return Page(
        doc_id="d",
        number=1,
        width=SIZE[0],
        height=SIZE[1],
        words=placed,
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="made up"),
    )


def batch(made: Checkpoint, *, neighbours: Any = None) -> Batch:
    examples = unlabelled(page(), made.tokenizer, 48, *([neighbours] if neighbours else []))
    return collate(examples, made.tokenizer.pad_id)


def make(
    folder: Path, model: dict[str, Any], task: dict[str, Any] | None = None, labels: Sequence[str] = LABELS
) -> Checkpoint:
    """A stored checkpoint with random weights everywhere, as loaded again."""
    chosen = recipes.from_dict(
        {
            "name": "small",
            "task": task or ENTITIES,
            "model": {"size": "tiny", **model},
            "max_length": 48,
            "train": {"steps": 1},
            "seed": 3,
        }
    )
    words = byte_pairs(folder) if "roberta" in model.values() else vocabulary()
    built = checkpoint.build_model(chosen, words, labels)
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    provenance = {"pages_from": ["/private/place/receipts"], "init": ["/private/place/minilm"]}
    checkpoint.save(
        folder / "ours",
        Checkpoint(
            recipe=chosen,
            labels=tuple(labels),
            tokenizer=words,
            model=built.eval(),
            metrics=METRICS,
            provenance=provenance,
            version="",
            temperature=1.25,
        ),
    )
    return checkpoint.load(folder / "ours")


def byte_pairs(folder: Path) -> tokenizer.Tokenizer:
    where = folder / "byte-pairs"
    where.mkdir(parents=True, exist_ok=True)
    write_byte_pairs(where, 270)
    return tokenizer.load(where)


def export(folder: Path, *options: str) -> Path:
    """The folder exported from the checkpoint in `folder / "ours"`."""
    assert main(["export", "huggingface", str(folder / "ours"), str(folder / "theirs"), *options]) == 0
    return folder / "theirs"
