"""Tables of the Pyramidion paper on documents with summaries: ROUGE by encoder, and by what decides which tokens are kept."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from layoutray.bench.spread import Spread
from layoutray.bench.summary_tables import ENCODERS, PAPER_ROUGE, SCORERS, decoder_keys
from layoutray.cli import terminal
from layoutray.cli._text_scores import first_sentence_scores
from pipelines._runs import Runs, Scores, add_options, schedule, tables

_RECIPE = "finetune-scitldr"
_HALVINGS = (1, 1)
_ROWS = {**ENCODERS, **SCORERS}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray benchmark summary-tables", description=__doc__)
    parser.add_argument(
        "documents", type=Path, help="folder of pages of documents with summaries, such as `layoutray ingest` makes"
    )
    parser.add_argument("--length", type=int, default=512, help="tokens of a document")
    parser.add_argument("--block", type=int, default=128, help="tokens that attend to each other")
    parser.add_argument("--written", type=int, default=64, help="tokens of a summary")
    parser.add_argument(
        "--only", nargs="+", choices=_ROWS, default=list(_ROWS), help="these systems alone", metavar="SYSTEM"
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    runs = Runs("summary-tables", options)
    lengths = {"max_length": options.length, "task.writing.max_length": options.written}
    examples = runs.encode(_RECIPE, str(options.documents), "examples", lengths)

    def tune(name: str, seed: int) -> dict[str, float]:
        model = {"max_length": options.length, "block": options.block, "halvings": list(_HALVINGS), **_ROWS[name]}
        keys = {**lengths, "seed": seed, **{f"model.{key}": value for key, value in model.items()}}
        keys |= {**schedule(options.steps), "train.patience": 0}
        runs.train("finetune", _RECIPE, examples, runs.folder(name, seed), keys)
        return runs.evaluated(runs.folder(name, seed), options.documents)

    scores = runs.all({name: _ROWS[name] for name in options.only}, tune)
    lead = first_sentence_scores([str(options.documents)], pc.field("split") == "test")
    for title, chosen in tables(scores, {"encoders": ENCODERS, "who is kept": SCORERS}).items():
        _show(title, chosen, lead, options)
    runs.finish({"rouge": scores, "first_sentence": lead}, scores)
    return 0


def _show(title: str, scores: Scores, lead: Mapping[str, float], options: argparse.Namespace) -> None:
    rouge = {name: f"{100 * value:.2f}" for name, value in lead.items()}
    bounds = f"{rouge['rouge1_low']} to {rouge['rouge1_high']}"
    rows: list[Sequence[Any]] = [
        ("the first sentence", "", rouge["rouge1"], bounds, rouge["rouge2"], rouge["rougeL"], "", "")
    ]
    for name, by_seed in scores.items():
        found = list(by_seed.values())
        rouge1, low, high = (
            Spread.of([100 * of[metric] for of in found]) for metric in ("rouge1", "rouge1_low", "rouge1_high")
        )
        rest = [f"{Spread.of([100 * of[metric] for of in found]).mean:.2f}" for metric in ("rouge2", "rougeL")]
        perplexity = f"{Spread.of([of['perplexity'] for of in found]).mean:.1f}"
        keys = decoder_keys(_ROWS[name], options.length, sum(_HALVINGS))
        paper = " / ".join(f"{value:.1f}" for value in PAPER_ROUGE.get(name, ()))
        seeds, interval = (
            f"{rouge1.mean:.2f} ({rouge1.least:.2f} to {rouge1.most:.2f})",
            f"{low.mean:.2f} to {high.mean:.2f}",
        )
        rows.append((name, keys, seeds, interval, *rest, perplexity, paper))
    heading = (
        f"{title}: ROUGE F1 on the test split in percent, means of {len(options.seeds)} seeds, intervals over documents"
    )
    columns = (
        "system",
        "decoder's keys",
        "ROUGE-1 (range of seeds)",
        "95 % interval",
        "ROUGE-2",
        "ROUGE-L",
        "perplexity",
        "paper, 1 / 2",
    )
    terminal.show_table(heading, columns, rows)


if __name__ == "__main__":
    sys.exit(terminal.run(lambda: main(sys.argv[1:])))
