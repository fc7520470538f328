"""Retry dead letters after their cause is fixed: new software, a repaired file, other settings."""

import dataclasses
import time
from collections.abc import Callable, Collection, Sequence
from itertools import chain

from layoutray import config
from layoutray.cluster.connect import num_workers
from layoutray.cluster.ingest import open_documents, run_plan
from layoutray.cluster.progress import Progress, ignore_progress
from layoutray.errors import RecipeError
from layoutray.prepare.discovery import find_documents
from layoutray.prepare.manifest import IngestRun, Manifest, make_manifest
from layoutray.prepare.opened_before import OpenedBefore
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import OpenedDocument, Plan
from layoutray.prepare.plan import make_plan
from layoutray.prepare.recognise import check_engine
from layoutray.prepare.record_codecs import DOCUMENT_REF, reference_key
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.dead_letter import DeadLetter
from layoutray.store.spilled import SpilledList, spilled_set


def replay(
    out: str,
    letters: Sequence[DeadLetter],
    changes: Sequence[str] = (),
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] = ignore_progress,
) -> Manifest:
    """Retry `letters` of the data set `out`, and return its new manifest (also in `out/manifest.json`).

    Pages that succeed become PAGES rows and lose their dead letters. Pages that fail again get a new dead letter with
    the latest trace. Other dead letters stay, and so do documents that the last ingest has not seen.

    To recompute the manifest, every document of the ingest is opened again if its file has changed; its pages are then
    processed again. If the run is killed, nothing is lost: the next `ingest` or `replay` processes the missing pages.

    Args:
        changes: assignments to keys of `recognition`, for example `recognition.deadline=300`, for the retried
            letters only. A page keeps the identity that the recipe of the data set gives it, so a rerun of `ingest`
            does not process it again. The column `settings` of the page has the changed settings.
        workers: number of worker processes; default: one for each core of the cluster.

    Raises:
        InputError: if no ingest has completed in `out`, or its documents no longer exist.
        RecipeError: if `changes` assign to other keys.
        SchemaError: if a version with other page identities wrote `out`.
    """
    started = time.monotonic()
    workers = workers or num_workers()
    output = Output(out)
    manifest = Manifest.read(out)
    recipe = manifest.recipe()
    changed = config.build(IngestRecipe, config.override(config.to_dict(recipe), changes))
    if dataclasses.replace(changed, recognition=recipe.recognition) != recipe:
        raise RecipeError(
            f"{', '.join(changes)}: replay can change keys of recognition only; "
            "to change others, run `layoutray ingest` again"
        )
    check_engine(changed.recognition)
    output.clear_half_written()
    plan = _plan(manifest, output, letters, changed, workers, progress)
    letter_ids = {letter.page_id for letter in letters}
    output.drop_dead_letters({task.page_id for task in plan.page_tasks if task.page_id in letter_ids})
    pages = run_plan(plan, output.done(), output, changed, workers, progress)
    run = IngestRun(pages, time.monotonic() - started, workers)
    renewed = make_manifest(manifest.source, output, plan, recipe, run)
    renewed = dataclasses.replace(renewed, language=manifest.language)
    renewed.write(out)
    return renewed


def _plan(
    manifest: Manifest,
    output: Output,
    letters: Collection[DeadLetter],
    changed: IngestRecipe,
    workers: int,
    progress: Callable[[Progress], None],
) -> Plan:
    """The plan of the data set's ingest. Documents of `letters` are opened with the recipe `changed`.

    Of the documents that could not be opened, those without a letter in `letters` keep their dead letter.
    """
    recipe = manifest.recipe()
    found = find_documents(manifest.source, recipe)
    retried_sources = {letter.source for letter in letters}
    unopened = {
        letter.source: letter
        for letter in output.read_dead_letters()
        if letter.page is None and letter.source not in retried_sources
    }
    documents = (document.source for document in output.written_documents())
    ingested = spilled_set(chain(documents, (duplicate["source"] for duplicate in manifest.duplicates)))
    planned, retried, others = SpilledList(DOCUMENT_REF), SpilledList(DOCUMENT_REF), SpilledList(DOCUMENT_REF)
    for reference in found.references:
        if reference.source in retried_sources:
            retried.append(reference)
        elif reference.source in ingested and reference.source not in unopened:
            others.append(reference)
        elif reference.source not in unopened:
            continue
        planned.append(reference)
    before = OpenedBefore.load(output, manifest.source, recipe)
    opened = open_documents(others, recipe, progress, workers, before)
    opened_again = open_documents(retried, changed, progress, workers)
    in_order = (
        opened.get(key)
        or opened_again.get(key)
        or OpenedDocument(reference=reference, document=None, letter=unopened[reference.source])
        for reference in planned
        for key in (reference_key(reference),)
    )
    return make_plan(in_order, recipe, set_splits=found.splits, without_picture=found.without_picture)
