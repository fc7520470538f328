"""Dead letters tried again, after what was in their way has been mended: new software, a repaired file, other settings."""

import dataclasses
import time
from collections.abc import Callable, Collection, Sequence
from itertools import chain

from layoutray import config
from layoutray.cluster.connect import num_workers
from layoutray.cluster.ingest import find, open_all, open_changed, run_plan
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.errors import RecipeError
from layoutray.prepare import plan_storage
from layoutray.prepare.manifest import Manifest, Run, manifest_of
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument, Plan
from layoutray.prepare.plan import plan_of
from layoutray.recipe import IngestRecipe
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.spilled import keys


def replay(
    out: str,
    letters: Sequence[DeadLetter],
    changes: Sequence[str] = (),
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Manifest:
    """Try `letters` of the ingested folder `out` again, and return its new manifest (also in `out/manifest.json`).

    Pages that work now join the others and their dead letters leave; what fails again keeps one, with its latest trace.
    Left alone are all other dead letters, and documents that ingest has not seen or that another source gave. To count anew,
    every document of the manifest is opened as by a rerun of `ingest`; one whose bytes have changed is read again. Killed in
    between, it loses nothing: the next `ingest` or `replay` does the pages that are missing.

    Args:
        changes: assignments to keys of `recognition`, such as `recognition.tesseract.deadline=300`, for the letters alone. A page
            keeps the identity that the folder's recipe gives it, so that a rerun of `ingest` leaves it as it is; its `settings`
            say what made it.
        workers: processes that do pages; one for each core of the connected cluster by default.

    Raises:
        InputError: when ingest has not ended in `out`, or its documents are gone.
        RecipeError: when `changes` are of something else.
        SchemaError: when another version made `out`, by other rules.
    """
    started = time.monotonic()
    chosen = workers or num_workers()
    output = Output(out)
    manifest = Manifest.read(out)
    recipe = manifest.recipe()
    changed = _changed(recipe, changes)
    output.clear_half_written()
    plan = _plan(manifest, output, letters, changed, progress)
    asked_for = {letter.page_id for letter in letters}
    output.forget({unit.page_id for unit in plan.units if unit.page_id in asked_for})
    pages = run_plan(plan, output.done(), output, changed, chosen, progress)
    renewed = manifest_of(manifest.source, output, plan, recipe, Run(pages, time.monotonic() - started, chosen))
    renewed.write(out)
    return renewed


def _changed(recipe: IngestRecipe, changes: Sequence[str]) -> IngestRecipe:
    changed = config.build(IngestRecipe, config.override(config.to_dict(recipe), changes))
    if dataclasses.replace(changed, recognition=recipe.recognition) != recipe:
        raise RecipeError(
            f"{', '.join(changes)}: replay changes keys of recognition alone; for others run `layoutray ingest` again"
        )
    return changed


def _plan(
    manifest: Manifest,
    output: Output,
    letters: Collection[DeadLetter],
    changed: IngestRecipe,
    progress: Callable[[Progress], None],
) -> Plan:
    """The plan of the ingest that filled the folder, with the documents of `letters` opened by `changed`."""
    recipe = manifest.recipe()
    found = find(manifest.source, recipe)
    again = {letter.source for letter in letters}
    unopened = {
        letter.source: letter for letter in output.letters() if letter.page is None and letter.source not in again
    }
    known = keys(
        chain(
            (document.source for document in output.documents_there()), (one["source"] for one in manifest.duplicates)
        )
    )
    items, repaired, others = plan_storage.items(), plan_storage.items(), plan_storage.items()
    for item in found.items:
        if item.source in again or item.source in known or item.source in unopened:
            items.append(item)
            if item.source in again:
                repaired.append(item)
            elif item.source not in unopened:
                others.append(item)
    opened = open_changed(others, recipe, output, manifest.source, progress)
    for one in open_all(repaired, changed, progress):
        opened[plan_storage.item_key(one.item)] = one
    told = (
        opened.get(plan_storage.item_key(item)) or OpenedDocument(item, None, unopened[item.source]) for item in items
    )
    return plan_of(told, recipe, own=found.splits, without_picture=found.without_picture)
