"""Packets that are split exactly, and page labels, after a training on few documents of each kind.

The first documents of each kind are for training, of which each seed draws some; packets are drawn from the others.
"""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.measure.packets import Kinds, Packet, packets, read_kinds
from benchmarks.measure.spread import Spread
from benchmarks.options import RunsOptions, add_runs_options
from benchmarks.training_runs import Runs
from layoutray import start
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive
from layoutray.cli.shared.options import parse
from layoutray.document import Document, Page
from layoutray.document.packets import part_field
from layoutray.inference.extractor import Extractor
from layoutray.prepare.encode import Encoder
from layoutray.recipe import recipes
from layoutray.store import codec, example_files, shards
from layoutray.store.card import Card
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES
from layoutray.tasks.packets import split
from layoutray.training import world
from layoutray.training.inputs import prepare
from layoutray.training.job import Job, finished
from layoutray.training.reporter import CompositeReporter
from layoutray.training.train import train

_RECIPE = "finetune-pages"
_SEED_OF_PACKETS = 99


@dataclass(frozen=True, kw_only=True)
class PacketsOptions(RunsOptions):
    """Options of `packets`.

    Attributes:
        data: folder of the data sets `sroie`, `funsd` and `kleister-nda`.
        documents: numbers of training documents of each kind.
        pool: documents of each kind from which they are drawn.
        packets: number of measured packets.
    """

    data: Path
    documents: Sequence[int]
    pool: int
    packets: int


def main(arguments: Sequence[str]) -> int:
    options = parse(_parser(), arguments, PacketsOptions)
    measured = _Measured(options)
    scores = measured.runs.run_all([str(one) for one in options.documents], measured.score)
    names = ("accuracy", "kind_accuracy", "split_accuracy", "packets", "boundary_f1", "cpu_seconds_a_page")
    rows = [
        (documents, *(str(Spread.of([one[name] for one in by_seed.values()])) for name in names))
        for documents, by_seed in scores.items()
    ]
    columns = ("documents of each kind", "page labels", "kinds", "labels after the split", "packets", "boundaries", "s")
    terminal.show_table(f"{options.packets} packets of unseen documents", columns, rows)
    measured.runs.finish({"test": scores}, {})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks packets", description=__doc__)
    parser.add_argument("data", type=Path, help="folder with sroie, funsd and kleister-nda")
    parser.add_argument("--documents", type=positive, nargs="+", default=[10, 50], help="of each kind, for training")
    parser.add_argument("--pool", type=positive, default=60, help="from which they are drawn (default: %(default)s)")
    parser.add_argument("--packets", type=positive, default=100, help="measured packets (default: %(default)s)")
    add_runs_options(parser)
    parser.set_defaults(at_once=1)
    return parser


class _Measured:
    """Trainings on documents of the pool, measured on packets of the others."""

    def __init__(self, options: PacketsOptions) -> None:
        self._options = options
        self.runs = Runs("packets", options)
        kinds = read_kinds(options.data, 2 * options.pool)
        self._pool = {kind: documents[: options.pool] for kind, documents in kinds.items()}
        rest = {kind: documents[options.pool :] for kind, documents in kinds.items()}
        self._packets = [*packets(rest, _SEED_OF_PACKETS, options.packets)]

    def score(self, documents: str, seed: int) -> dict[str, float]:
        """The metrics of a model that has learned from so many documents of each kind."""
        folder = self.runs.folder(f"documents {documents}", seed)
        scores = folder.with_name(f"{folder.name}.json")
        if not scores.is_file():
            random = Random(seed)
            drawn = {kind: random.sample(of_kind, int(documents)) for kind, of_kind in self._pool.items()}
            keys = [f"seed={seed}"]
            scores.write_text(
                json.dumps(measure(_trained(drawn, folder, [*keys, *self._options.overrides]), self._packets)),
                encoding="utf-8",
            )
        return json.loads(scores.read_text(encoding="utf-8"))


def measure(extractor: Extractor, measured: Sequence[Packet]) -> dict[str, float]:
    """Shares of right page labels and of exactly split packets, F1 of boundaries, and CPU seconds a page."""
    started = time.process_time()
    answered: dict[int, Mapping[str, float]] = {}
    keys = [[id(page.words) for page in packet.pages] for packet in measured]  # a page may be in several packets
    for packet, of_packet in zip(measured, keys, strict=True):
        new = [(key, page) for key, page in zip(of_packet, packet.pages, strict=True) if key not in answered]
        for (key, _), found in zip(new, extractor.extract([page for _, page in new]), strict=True):
            answered[key] = {label.type: label.confidence for label in found}
    seconds = (time.process_time() - started) / len(answered)
    judged: list[tuple[str, str, str]] = []
    exact, right, found_all, true_all = 0, 0, 0, 0
    for packet, of_packet in zip(measured, keys, strict=True):
        labels = {page.number: answered[key] for page, key in zip(packet.pages, of_packet, strict=True)}
        result = split(packet.pages, labels)
        exact += packet.is_split_by(result)
        true = {part.first for part in packet.parts}
        found = {one.pages[0] for one in result.documents}
        right, found_all, true_all = right + len(true & found), found_all + len(found), true_all + len(true)
        truth = {
            number: _tag(part.kind, number == part.first)
            for part in packet.parts
            for number in range(part.first, part.last + 1)
        }
        after = {n: _tag(one.kind, n == one.pages[0]) for one in result.documents for n in one.pages}
        judged += [(truth[number], _likeliest(labels[number]), after[number]) for number in truth]
    pages = len(judged)
    return {
        "accuracy": sum(true == found for true, found, _ in judged) / pages,
        "kind_accuracy": sum(true[2:] == found[2:] for true, found, _ in judged) / pages,
        "split_accuracy": sum(true == after for true, _, after in judged) / pages,
        "packets": exact / len(measured),
        "boundary_f1": 2 * right / (found_all + true_all),
        "cpu_seconds_a_page": seconds,
    }


def _likeliest(labels: Mapping[str, float]) -> str:
    label = max(labels, key=lambda label: labels[label])
    return _tag(label[2:], label[0] in "BS")


def _tag(kind: str, begins: bool) -> str:
    return f"{'B' if begins else 'I'}-{kind}"


def _trained(drawn: Kinds, folder: Path, keys: Sequence[str]) -> Extractor:
    """A model of these documents, trained as `layoutray finetune finetune-pages --init start` does."""
    recipe = recipes.load(_RECIPE, [f"tokenizer.path={start.NAME}", *keys])
    examples = str(folder.with_name(f"{folder.name}.examples"))
    job = Job(recipe=recipe, examples=examples, out=folder, init=(str(start.FOLDER),))
    _encode(drawn, recipe, examples)
    if not finished(job):
        train(prepare(job, 1), world.single_process(), CompositeReporter([]), folder.with_name(f"{folder.name}.state"))
    return Extractor.load(folder)


def _encode(drawn: Kinds, recipe: recipes.Recipe, out: str) -> None:
    """Write the examples of the documents, with vocabulary and card."""
    documents = [(kind, pages) for kind, of_kind in drawn.items() for pages in of_kind]
    named: list[Page] = [
        replace(page, doc_id=f"{number}-{kind}", split="train", number=place)
        for number, (kind, pages) in enumerate(documents)
        for place, page in enumerate(pages, start=1)
    ]
    written = DataSet(f"{out}.pages")
    shards.write(
        codec.pages_table(named, [f"{one.doc_id}-{one.number}" for one in named]), written.pages, "part.parquet"
    )
    stated = [
        Document(doc_id=f"{number}-{kind}", source="", split="train", num_pages=len(pages), fields=(part_field(kind),))
        for number, (kind, pages) in enumerate(documents)
    ]
    shards.write(codec.documents_table(stated), written.documents, "part.parquet")
    labels = recipe.task.label_names([[f"B-{kind}"] for kind in drawn])  # pyright: ignore[reportAttributeAccessIssue]
    vocabulary = (start.FOLDER / "tokenizer.json").read_bytes()
    encoder = Encoder(
        task=recipe.task,
        max_length=recipe.max_length,
        labels=labels,
        vocabulary=vocabulary.decode(),
        data_sets=(written,),
    )
    table, dead = encoder(shards.read(written.pages, PAGES))
    assert not dead, dead[0].message
    shards.write_bytes(vocabulary, out, "tokenizer.json")
    example_files.write_index(example_files.write_shard(table, f"{out}/train", "part.arrow"), f"{out}/train")
    card = Card(
        task=recipe.task.name,
        max_length=recipe.max_length,
        labels=labels,
        sources=(written.folder,),
        pages={"train": len(named)},
        examples={"train": table.num_rows, "dev": 0, "test": 0},
        dead=0,
        digest=",".join(sorted(one.doc_id for one in stated)),
    )
    card.write(out)
