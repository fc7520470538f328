"""Training jobs that take seconds: made-up receipts, encoded for a task, and a model that is as small as it gets."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from layoutray import tokenizer
from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.word_source import WordSource
from layoutray.prepare.encode import Encoder, labels_for, vocabulary_for
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.store import codec, example_files, shards
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES, SPLITS
from layoutray.training.job import Job

MODEL = {
    "arch": "skimformer",
    "hidden": 32,
    "layout_hidden": 32,
    "layers": 2,
    "heads": 2,
    "head_size": 16,
    "skim_head_size": 16,
    "feed_forward": 64,
    "contextualiser_layers": 1,
    "contextualiser_heads": 2,
}
NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}

_NAMES = ("total", "date", "shop", "tax", "cash", "item")


def page(number: int, split: str = "train") -> Page:
    """A receipt: lines of a name and a value of one to three words; totals and dates are tagged."""
    random = np.random.default_rng(number)
    words: list[Word] = []
    for line in range(int(random.integers(3, 9))):
        name = str(random.choice(_NAMES))
        values = [f"{random.integers(100)}.{random.integers(10)}0" for _ in range(int(random.integers(1, 4)))]
        top = 0.1 + 0.1 * line
        for column, text in enumerate((name, *values)):
            inside = column > 0 and name in ("total", "date")
            tag = f"{'B' if column == 1 else 'I'}-{name}" if inside else "O"
            words.append(
                Word(text=text, box=Box(0.1 + 0.2 * column, top, 0.2 + 0.2 * column, top + 0.05), line=line, tag=tag)
            )
    doc_id = hashlib.sha256(str(number).encode()).hexdigest()
    return Page(
        doc_id=doc_id,
        number=1,
        width=600,
        height=800,
        words=tuple(words),
        source=f"receipt-{number}.png",
        image="",
        split=split,
        provenance=Provenance(words="annotation", reason="made up"),
    )


def pages(train: int, dev: int = 0) -> list[Page]:
    return [page(number, "train" if number < train else "dev") for number in range(train + dev)]


def write_pages(folder: Path, made: list[Page]) -> str:
    """PAGES shards, as `ingest` leaves them; returns the folder of the set."""
    shards.write(
        codec.pages_table(made, [f"page-{one.source}" for one in made]), DataSet(str(folder)).pages, "part-one.parquet"
    )
    return str(folder)


def recipe(
    task: str, *, model: dict[str, Any] | None = None, max_length: int = 48, vocabulary: str = "", **train: Any
) -> Recipe:
    values = {
        "name": f"small-{task}",
        "task": {"name": task},
        "train": {"steps": 20, "batch_size": 8, "micro_batch_size": 4, "learning_rate": 1e-3, **train},
        "model": MODEL | (model or {}),
        "tokenizer": {"vocab_size": 120, "path": vocabulary},
        "max_length": max_length,
        "seed": 3,
    }
    return recipes.from_dict(values)


def recipe_file(folder: Path, chosen: Recipe) -> str:
    """`chosen` as a user has it, in a file."""
    tables = {"task": {"name": chosen.task.name}, "train": dataclasses.asdict(chosen.train), "model": chosen.model}
    lines = [
        f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        for table, keys in tables.items()
    ]
    file = folder / "small.toml"
    file.write_text(
        f"name = {json.dumps(chosen.name)}\nmax_length = {chosen.max_length}\nseed = {chosen.seed}\n{''.join(lines)}"
    )
    return str(file)


def encode(folder: Path, chosen: Recipe, made: list[Page]) -> str:
    """EXAMPLES with vocabulary and card, as `encode` leaves them; returns their folder."""
    ingested, out = write_pages(folder / "ingested", made), str(folder / "examples")
    data_set = DataSet(ingested)
    vocabulary = vocabulary_for(chosen.tokenizer, [data_set], chosen.filters, chosen.task)
    labels = labels_for(chosen.task, [data_set])
    encoder = Encoder(
        task=chosen.task,
        max_length=chosen.max_length,
        labels=labels,
        vocabulary=vocabulary.inner.to_str(),
        data_sets=(data_set,),
    )
    examples, dead = encoder(shards.read(data_set.pages, PAGES))
    assert not dead
    for split in SPLITS:
        part = examples.filter(pc.field("split") == split)
        if part.num_rows:
            example_files.write_index(example_files.write_shard(part, f"{out}/{split}", "part.arrow"), f"{out}/{split}")
    vocabulary.inner.save(f"{out}/tokenizer.json")
    count = {split: examples["split"].to_pylist().count(split) for split in SPLITS}
    Card(
        task=chosen.task.name,
        max_length=chosen.max_length,
        labels=encoder.labels,
        sources=(ingested,),
        pages={},
        examples=count,
        dead=0,
        digest="digest",
        learnt=(WordSource(words="annotation").to_json(),),
    ).write(out)
    return out


def job(folder: Path, chosen: Recipe, made: list[Page] | None = None, *, init: tuple[str, ...] = ()) -> Job:
    """A job on freshly encoded pages (24 to train on, 6 to develop on unless given)."""
    return Job(
        recipe=chosen, examples=encode(folder, chosen, made or pages(24, 6)), out=folder / "checkpoint", init=init
    )


def elsewhere(one: Job, folder: Path) -> Job:
    """The same job with another checkpoint folder."""
    return dataclasses.replace(one, out=folder)


def vocabulary(words: list[str] | None = None) -> tokenizer.Tokenizer:
    """A small WordPiece vocabulary of receipts."""
    return tokenizer.train_wordpiece(words or [word.text for one in pages(24) for word in one.words], 120)
