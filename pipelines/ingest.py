"""Turn a folder or data set of pages into a PAGES data set: words with boxes, dead letters and a manifest."""

import argparse
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from layoutray import recipe
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.ingest import ingest, plan_ingest
from layoutray.prepare.estimate import Estimate, estimate
from layoutray.prepare.output import Output
from layoutray.recipe import IngestRecipe
from layoutray.store import sources
from pipelines import _account as account
from pipelines import _terminal as terminal
from pipelines._progress import ProgressShown


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray ingest", description=__doc__)
    parser.add_argument("recipe", help="an ingest recipe: its name, or a .toml file")
    parser.add_argument("source", help="folder or s3:// address of the documents")
    parser.add_argument("out", help="folder or s3:// address to write to; a rerun does what is missing there")
    parser.add_argument("--workers", type=int, help="processes that read pages (default: one for each core)")
    parser.add_argument(
        "--sample",
        type=int,
        default=8,
        metavar="PAGES",
        help="with --dry-run: read so many for an estimate (default: 8)",
    )
    parser.add_argument(
        "--price", type=float, metavar="PER_HOUR", help="with --dry-run: of a core, for what it will cost"
    )
    parser.add_argument("--limit", type=int, help="only the first so many documents")
    parser.add_argument(
        "--max-dead-rate",
        type=account.share,
        metavar="SHARE",
        help="fail, keeping all that worked, when more than this share of pages died",
    )
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    chosen = recipe.load_ingest(options.recipe, options.set)
    if options.dry_run:
        return terminal.show_plan(chosen, _plan(options, chosen))
    source, out = sources.absolute(options.source), sources.absolute(options.out)
    with ProgressShown() as progress, connect():
        manifest = ingest(source, out, chosen, limit=options.limit, workers=options.workers, progress=progress)
    account.show(manifest, options.out)
    account.check(manifest, options.max_dead_rate, options.out)
    return 0


def _plan(options: argparse.Namespace, chosen: IngestRecipe) -> dict[str, Any]:
    with ProgressShown() as progress:
        plan = plan_ingest(options.source, chosen, limit=options.limit, progress=progress)
    todo = Output(options.out).done().remaining_pages(plan)
    counts: dict[str, Any] = {
        "documents": len(plan.documents),
        "dead letters": len(plan.letters),
        "duplicates": len(plan.duplicates),
        "without picture": len(plan.without_picture),
        "pages": len(plan.page_tasks),
        "pages to do": len(todo),
    }
    if todo and options.sample > 0:
        counts["estimate"] = _estimate(
            estimate(todo, chosen, options.sample), options.workers or num_cores(), options.price
        )
    return counts


def _estimate(of: Estimate, workers: int, price: float | None) -> dict[str, Any]:
    """For people: rounded, and with what the sample leaves open."""
    total, error = of.worker_hours()
    figures = {
        "pages sampled": len(of.seconds),
        "of them dead letters": of.dead,
        "seconds a page": round(statistics.fmean(of.seconds), 3),
        "worker hours": _range(total, error),
        "workers": workers,
        "hours": _range(total / workers, error / workers),
    }
    return figures if price is None else {**figures, "cost": _range(total * price, error * price)}


def _range(value: float, error: float) -> str:
    """`value`, and between what it lies with 95 % confidence, as far as the sample tells."""
    return f"{value:.3g} ({max(value - error, 0):.3g} to {value + error:.3g})"


if __name__ == "__main__":
    sys.exit(terminal.run(main))
