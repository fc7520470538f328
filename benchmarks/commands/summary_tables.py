"""Tables of the Pyramidion paper on documents with summaries: ROUGE by encoder, and by the scores of kept tokens."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure.spread import Spread
from benchmarks.options import RunsOptions, add_only, add_runs_options
from benchmarks.papers.summary import ENCODERS, FROM_SCRATCH, PAPER_ROUGE, SCORERS, decoder_keys
from benchmarks.training_runs import Runs, Scores, schedule, tables
from layoutray.cli.shared import terminal
from layoutray.cli.shared.options import parse
from layoutray.document import Page
from layoutray.evaluation.evaluate import score_summaries
from layoutray.evaluation.page_selection import PageSelection

_RECIPE = "finetune-scitldr"
_HALVINGS = (1, 1)
_ROWS = {**ENCODERS, **SCORERS}


@dataclass(frozen=True, kw_only=True)
class SummaryTablesOptions(RunsOptions):
    """Options of `summary-tables`.

    Attributes:
        documents: folder of documents with summaries.
        length: tokens of a document.
        block: tokens of a block of attention.
        written: tokens of a summary.
        only: the systems to train.
    """

    documents: Path
    length: int
    block: int
    written: int
    only: Sequence[str]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks summary-tables", description=__doc__)
    parser.add_argument(
        "documents", type=Path, help="folder of documents with summaries that `layoutray ingest` has written"
    )
    parser.add_argument("--length", type=int, default=512, help="tokens of a document")
    parser.add_argument("--block", type=int, default=128, help="tokens of a block of attention")
    parser.add_argument("--written", type=int, default=64, help="tokens of a summary")
    add_only(parser, _ROWS)
    add_runs_options(parser)
    options = parse(parser, arguments, SummaryTablesOptions)
    runs = Runs("summary-tables", options)
    lengths = {"max_length": options.length, "task.writing.max_length": options.written}
    shared = {**FROM_SCRATCH, **lengths}
    examples = runs.encode(_RECIPE, str(options.documents), "examples", shared)

    def tune(name: str, seed: int) -> dict[str, float]:
        model = {"max_length": options.length, "block": options.block, "halvings": list(_HALVINGS), **_ROWS[name]}
        keys = {**shared, "seed": seed, **{f"model.{key}": value for key, value in model.items()}}
        keys |= {**schedule(options.steps), "train.patience": 0}
        runs.train("finetune", _RECIPE, examples, runs.folder(name, seed), keys)
        return runs.evaluate(runs.folder(name, seed), options.documents)

    scores = runs.run_all(options.only, tune)
    lead = first_sentence_scores(PageSelection((str(options.documents),), "test"))
    for title, shown in tables(scores, {"encoders": ENCODERS, "scores of kept tokens": SCORERS}).items():
        _show(title, shown, lead, options)
    runs.finish({"rouge": scores, "first_sentence": lead}, scores)
    return 0


def first_sentence_scores(selection: PageSelection) -> dict[str, float]:
    """ROUGE of each document's first sentence, taken for its summary. Raises InputError without summaries."""
    return score_summaries(selection, lambda documents: [_first_sentence(pages) for pages in documents])


def _first_sentence(pages: Sequence[Page]) -> str:
    """All words up to the first that ends a sentence."""
    words = [word.text for page in pages for word in page.words]
    end = next((number for number, word in enumerate(words, start=1) if word.endswith((".", "!", "?"))), len(words))
    return " ".join(words[:end])


def _show(title: str, scores: Scores, lead: Mapping[str, float], options: SummaryTablesOptions) -> None:
    rouge = {name: f"{100 * value:.2f}" for name, value in lead.items()}
    bounds = f"{rouge['rouge1_low']} to {rouge['rouge1_high']}"
    rows: list[Sequence[Any]] = [
        ("the first sentence", "", rouge["rouge1"], bounds, rouge["rouge2"], rouge["rougeL"], "", "")
    ]
    for name, by_seed in scores.items():
        metrics = list(by_seed.values())
        rouge1, low, high = (
            Spread.of([100 * one[metric] for one in metrics]) for metric in ("rouge1", "rouge1_low", "rouge1_high")
        )
        rest = [f"{Spread.of([100 * one[metric] for one in metrics]).mean:.2f}" for metric in ("rouge2", "rougeL")]
        perplexity = f"{Spread.of([one['perplexity'] for one in metrics]).mean:.1f}"
        keys = decoder_keys(_ROWS[name], options.length, sum(_HALVINGS))
        paper = " / ".join(f"{value:.1f}" for value in PAPER_ROUGE.get(name, ()))
        seeds = f"{rouge1.mean:.2f} ({rouge1.least:.2f} to {rouge1.most:.2f})"
        interval = f"{low.mean:.2f} to {high.mean:.2f}"
        rows.append((name, keys, seeds, interval, *rest, perplexity, paper))
    heading = (
        f"{title}: ROUGE F1 on the test split in percent, means of {len(options.seeds)} seeds, intervals over documents"
    )
    columns = (
        "system",
        "decoder keys",
        "ROUGE-1 (range of seeds)",
        "95 % interval",
        "ROUGE-2",
        "ROUGE-L",
        "perplexity",
        "paper, 1 / 2",
    )
    terminal.show_table(heading, columns, rows)
