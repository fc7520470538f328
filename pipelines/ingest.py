"""Turn a folder or data set of pages into a PAGES data set: words with boxes, dead letters and a manifest."""

import argparse
import sys
from collections.abc import Sequence

from layoutray import recipe
from layoutray.cluster.connect import connect
from layoutray.cluster.data import ingest, plan_for
from layoutray.prepare.output import Output
from layoutray.recipe import IngestRecipe
from layoutray.store import sources
from pipelines import _account as account
from pipelines import _terminal as terminal
from pipelines._progress import IngestProgress


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray ingest", description=__doc__)
    parser.add_argument("recipe", help="an ingest recipe: its name, or a .toml file")
    parser.add_argument("source", help="folder or s3:// address of the documents")
    parser.add_argument("out", help="folder or s3:// address to write to; a rerun does what is missing there")
    parser.add_argument("--workers", type=int, help="processes that read pages (default: one for each core)")
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
        return terminal.show_plan(chosen, _counts(options.source, options.out, chosen, options.limit))
    source, out = sources.absolute(options.source), sources.absolute(options.out)
    with IngestProgress() as progress, connect():
        manifest = ingest(source, out, chosen, limit=options.limit, workers=options.workers, progress=progress)
    account.show(manifest, options.out)
    account.check(manifest, options.max_dead_rate, options.out)
    return 0


def _counts(source: str, out: str, chosen: IngestRecipe, limit: int | None) -> dict[str, int]:
    with IngestProgress() as progress:
        plan = plan_for(source, chosen, limit=limit, progress=progress)
    done = Output(out).done()
    return {
        "documents": len(plan.documents),
        "dead letters": len(plan.letters),
        "duplicates": len(plan.duplicates),
        "without picture": len(plan.without_picture),
        "pages": len(plan.units),
        "pages to do": sum(unit not in done for unit in plan.units),
    }


if __name__ == "__main__":
    sys.exit(terminal.run(main))
