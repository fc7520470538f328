"""`layoutray ingest`: read documents with OCR; write their pages, dead letters and a manifest."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.cli.shared import ingest_summary, options, terminal
from layoutray.cli.shared.options import RecipeOptions
from layoutray.cli.shared.progress import ProgressDisplay
from layoutray.cluster.connect import connect, num_cores
from layoutray.cluster.ingest import ingest, plan_ingest
from layoutray.prepare.estimate import Estimate, estimate
from layoutray.prepare.output import Output
from layoutray.recipe.ingest import IngestRecipe, load_ingest
from layoutray.store import sources


@dataclass(frozen=True, kw_only=True)
class IngestOptions(RecipeOptions):
    """Options of `layoutray ingest`.

    Attributes:
        workers: processes that read pages; None starts one per core.
        sample: pages that a dry run reads for its estimate; 0 estimates nothing.
        price: of a core per hour, for the estimate.
        limit: take only this many documents.
        max_dead_rate: largest allowed share of dead pages.
    """

    recipe: str
    source: str
    out: str
    workers: int | None
    sample: int
    price: float | None
    limit: int | None
    max_dead_rate: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    ingest_recipe = load_ingest(chosen.recipe, chosen.overrides)
    if chosen.dry_run:
        return terminal.show_plan(ingest_recipe, _plan(chosen, ingest_recipe))
    source, out = sources.absolute(chosen.source), sources.absolute(chosen.out)
    with ProgressDisplay() as progress, connect(gpus=0):
        manifest = ingest(source, out, ingest_recipe, limit=chosen.limit, workers=chosen.workers, progress=progress)
    ingest_summary.show(manifest, chosen.out)
    ingest_summary.check_dead_rate(manifest, chosen.max_dead_rate, chosen.out)
    return 0


def _parse(arguments: Sequence[str] | None) -> IngestOptions:
    parser = options.parser("ingest")
    options.add_recipe(parser, "ingest")
    parser.add_argument("source", help="folder or s3:// address of the documents")
    parser.add_argument(
        "out", help="folder or s3:// address for the pages; a second run processes only what is missing"
    )
    options.add_reading_workers(parser)
    parser.add_argument(
        "--sample",
        type=int,
        default=8,
        metavar="PAGES",
        help="with --dry-run: pages to read for an estimate of the time (default: %(default)s)",
    )
    parser.add_argument(
        "--price", type=float, metavar="PER_HOUR", help="with --dry-run: price of a core per hour, to estimate the cost"
    )
    parser.add_argument("--limit", type=int, metavar="DOCUMENTS", help="take only the first DOCUMENTS documents")
    parser.add_argument(
        "--max-dead-rate",
        type=options.share,
        metavar="SHARE",
        help="exit with status 1 if more than this share of the pages are dead letters; finished pages are kept",
    )
    options.add_recipe_options(parser)
    return options.parse(parser, arguments, IngestOptions)


def _plan(chosen: IngestOptions, ingest_recipe: IngestRecipe) -> dict[str, Any]:
    with ProgressDisplay() as progress:
        plan = plan_ingest(chosen.source, ingest_recipe, limit=chosen.limit, progress=progress)
    remaining = Output(chosen.out).done().remaining_pages(plan)
    counts: dict[str, Any] = {
        "documents": len(plan.documents),
        "dead letters": len(plan.letters),
        "duplicates": len(plan.duplicates),
        "without picture": len(plan.without_picture),
        "pages": len(plan.page_tasks),
        "pages to do": len(remaining),
    }
    if remaining and chosen.sample > 0:
        sample = estimate(remaining, ingest_recipe, chosen.sample)
        counts["estimate"] = _estimate(sample, chosen.workers or num_cores(), chosen.price)
    return counts


def _estimate(sample: Estimate, workers: int, price: float | None) -> dict[str, Any]:
    """Time and cost for people: rounded, with 95 % confidence intervals."""
    hours, error = sample.worker_hours()
    figures = {
        "pages sampled": len(sample.seconds),
        "of them dead letters": sample.dead,
        "seconds a page": round(statistics.fmean(sample.seconds), 3),
        "worker hours": _interval(hours, error),
        "workers": workers,
        "hours": _interval(hours / workers, error / workers),
    }
    return figures if price is None else {**figures, "cost": _interval(hours * price, error * price)}


def _interval(value: float, error: float) -> str:
    """`value` and the bounds of its 95 % confidence interval."""
    return f"{value:.3g} ({max(value - error, 0):.3g} to {value + error:.3g})"
