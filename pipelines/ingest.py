"""Turn a folder or data set of pages into a PAGES data set: words with boxes, dead letters and a manifest."""

import argparse
import sys
from collections.abc import Sequence

from layoutray import recipe
from layoutray.cluster.connect import connect
from layoutray.cluster.data import ingest, plan_for
from layoutray.prepare.manifest import Manifest
from layoutray.prepare.output import Output
from layoutray.recipe import IngestRecipe
from layoutray.store import sources
from pipelines import _terminal as terminal
from pipelines._progress import IngestProgress


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray ingest", description=__doc__)
    parser.add_argument("recipe", help="an ingest recipe: its name, or a .toml file")
    parser.add_argument("source", help="folder or s3:// address of the documents")
    parser.add_argument("out", help="folder or s3:// address to write to; a rerun does what is missing there")
    parser.add_argument("--workers", type=int, help="processes that read pages (default: one for each core)")
    parser.add_argument("--limit", type=int, help="only the first so many documents")
    terminal.add_recipe_options(parser)
    options = parser.parse_args(arguments)
    chosen = recipe.load_ingest(options.recipe, options.set)
    if options.dry_run:
        return terminal.show_plan(chosen, _counts(options.source, options.out, chosen, options.limit))
    source, out = sources.absolute(options.source), sources.absolute(options.out)
    with IngestProgress() as progress, connect():
        manifest = ingest(source, out, chosen, limit=options.limit, workers=options.workers, progress=progress)
    _report(manifest, options.out)
    return 0


def _counts(source: str, out: str, chosen: IngestRecipe, limit: int | None) -> dict[str, int]:
    with IngestProgress() as progress:
        plan = plan_for(source, chosen, limit=limit, progress=progress)
    done = Output(out).done()
    return {
        "documents": len(plan.documents),
        "dead letters": len(plan.letters),
        "duplicates": len(plan.duplicates),
        "pages": len(plan.units),
        "pages to do": sum(unit not in done for unit in plan.units),
    }


def _report(manifest: Manifest, out: str) -> None:
    rows = [
        ("documents", manifest.documents_in, manifest.documents_out, manifest.documents_dead, len(manifest.duplicates)),
        ("pages", manifest.pages_in, manifest.pages_out, manifest.pages_dead, ""),
    ]
    terminal.show_table(f"Ingest of {manifest.source}", ("", "in", "out", "dead letters", "duplicates"), rows)
    if manifest.reasons:
        terminal.say("dead letters: " + ", ".join(f"{count} {reason}" for reason, count in manifest.reasons.items()))
    if manifest.known_from_train:
        terminal.say(f"{manifest.known_from_train} pages of dev and test have word for word the text of a training page")
    run = manifest.run
    before = manifest.pages_in - run.pages
    speed = f"{run.pages} pages done in {run.seconds:.1f} s ({run.pages_per_second:.2f} pages/s)" if run.pages else "nothing left to do"
    terminal.say(f"{speed}{f', {before} done before' if before else ''}; written to {out}")


if __name__ == "__main__":
    sys.exit(terminal.run(main))
