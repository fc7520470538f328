"""`layoutray ingest`: read documents with OCR; write their pages, dead letters and a manifest."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import RecipeOptions, option
from layoutray.cli.verbs import needs_extra

if TYPE_CHECKING:
    from layoutray.prepare.manifest import Manifest
    from layoutray.prepare.truth_check import TruthCheck

_MOST_CHECKED = 500
"""Documents whose labels are checked: enough to see that labels are wrong, in seconds."""

_OPTIONS = {
    "recipe": options.recipe("ingest"),
    "source": option(help="folder or s3:// address of the documents"),
    "out": option(help="folder or s3:// address for the pages; a second run processes only what is missing"),
    "workers": options.reading_workers(),
    "sample": options.sample(),
    "price": options.price(),
    "limit": option(
        "--limit", type=checked.positive, metavar="DOCUMENTS", help="take only the first DOCUMENTS documents"
    ),
    "max_dead_rate": option(
        "--max-dead-rate",
        type=checked.share,
        metavar="SHARE",
        help="exit with status 1 if more than this share of the pages are dead letters; finished pages are kept",
    ),
    **options.declared(RecipeOptions),
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = options.parse_for("ingest", _OPTIONS, arguments, ingest)
    plan_only, sample, price = (given.pop(name) for name in ("dry_run", "sample", "price"))
    if plan_only:
        return _show_plan(given, sample, price)
    ingest(**given)
    return 0


@needs_extra("ingest")
def ingest(
    recipe: str,
    source: str | Path,
    out: str | Path,
    *,
    workers: int | None = None,
    limit: int | None = None,
    max_dead_rate: float | None = None,
    overrides: Sequence[str] = (),
) -> "Manifest":
    """Read documents with OCR; write their pages, dead letters and a manifest into a folder.

    A second call with the same folder processes only what is missing. Starts Ray, or joins the cluster at RAY_ADDRESS.

    Args:
        recipe: name of a shipped ingest recipe, or a .toml file.
        source: folder or s3:// address of the documents.
        out: folder or s3:// address for the pages.
        workers: processes that read pages; None: one per core.
        limit: take only this many documents.
        max_dead_rate: largest allowed share of dead letters among the pages, 0..1.
        overrides: `KEY=VALUE` assignments to recipe keys.

    Returns:
        The manifest: counts of documents, pages and dead letters, over all runs into `out`.

    Raises:
        RecipeError: if there is no such recipe, or a key has a value that is not allowed.
        InputError: if there is no document below `source`.
        LayoutrayError: if more pages than `max_dead_rate` are dead letters. All others are written.
        MissingDependencyError: if the OCR engine is not installed.
    """
    # Imported here because Ray takes seconds, for which `--help` shall not wait.
    from layoutray.cli.shared import ingest_summary, output_folder
    from layoutray.recipe.ingest import load_ingest
    from layoutray.store.folder_kind import DATA_SET

    loaded = load_ingest(recipe, overrides)
    root, folder = output_folder.existing(source), output_folder.usable(out, DATA_SET)

    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster import ingest as on_ray
    from layoutray.store.output_lock import working_on

    with working_on(folder), ProgressDisplay() as progress:
        manifest = on_ray.ingest(root, folder, loaded, limit=limit, workers=workers, progress=progress)
        check = _check_truth(folder)
        if check:
            manifest = replace(manifest, truth=check.counts())
            manifest.write(folder)
    ingest_summary.show(manifest, str(out))
    if check:
        ingest_summary.show_truth(check, str(out))
    ingest_summary.check_dead_rate(manifest, max_dead_rate, str(out))
    return manifest


def _check_truth(folder: str) -> "TruthCheck | None":
    """Check the labels of the first documents of a data set; None if there are none."""
    from layoutray.prepare.whole_documents import labelled_ids
    from layoutray.store.data_set import DataSet

    data_set = DataSet(folder)
    doc_ids = labelled_ids(data_set, _MOST_CHECKED)
    if not doc_ids:
        return None
    try:
        from layoutray.prepare.truth_check import check_truth
    except ModuleNotFoundError as error:
        terminal.say(f"the labels are not checked, as {error.name} is missing: pip install 'layoutray[train]'")
        return None
    return check_truth(data_set, doc_ids)


def _show_plan(given: dict[str, Any], sample: int, price: float | None) -> int:
    from layoutray.cli.shared import cost, output_folder
    from layoutray.cli.shared.progress import ProgressDisplay
    from layoutray.cluster.ingest import plan_ingest
    from layoutray.prepare.language import with_language
    from layoutray.prepare.output import Output
    from layoutray.recipe.ingest import load_ingest
    from layoutray.store.folder_kind import DATA_SET

    source, out = output_folder.existing(given["source"]), output_folder.usable(given["out"], DATA_SET)
    recipe, decision = with_language(load_ingest(given["recipe"], given["overrides"]), source, Output(out))
    with ProgressDisplay() as progress:
        plan = plan_ingest(source, recipe, limit=given["limit"], progress=progress)
    remaining = Output(out).done().remaining_pages(plan)
    counts: dict[str, Any] = {
        "documents": len(plan.documents),
        "dead letters": len(plan.letters),
        "duplicates": len(plan.duplicates),
        "without picture": len(plan.without_picture),
        "pages": len(plan.page_tasks),
        "pages to do": len(remaining),
    }
    if decision:
        counts["language"] = asdict(decision)
    if remaining and sample > 0:
        counts["estimate"] = cost.of_pages(remaining, recipe, sample, given["workers"], price)
    return terminal.show_plan(recipe, counts)
