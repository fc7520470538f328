"""`layoutray drift`: whether and since when the documents of a model have changed, without labels."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import option
from layoutray.errors import InputError

if TYPE_CHECKING:
    from layoutray.document.signals import Observed
    from layoutray.review.drift import Drift, Place


@dataclass(frozen=True, kw_only=True)
class DriftOptions:
    """Options of `layoutray drift`."""

    answers: str = option(help="folder written by `layoutray predict`, or review.db of an endpoint")
    pages: str = option(
        "--pages", metavar="FOLDER", default="", help="pages that were answered, if `predict` did not read them itself"
    )
    checkpoint: str = option(
        "--checkpoint",
        metavar="CHECKPOINT",
        default="",
        help="checkpoint that `layoutray calibrate` has written, or models:/NAME@ALIAS: what its labelled documents "
        "were like (default: the first 100 documents)",
    )
    csv: str | None = option(
        "--csv",
        type=checked.report_name,
        metavar="FILE",
        help="table for `layoutray review --order`: the documents that show a change most come first",
    )
    json: str | None = options.report_file()
    tracking_uri: str = options.tracking_uri()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("drift", arguments, DriftOptions)
    # Imported here because packages take seconds, for which `--help` shall not wait.
    from layoutray.document.signals import Reference
    from layoutray.formats.spreadsheet import csv_file
    from layoutray.review.drift import FIRST, drift
    from layoutray.store import shards

    reference = None
    if chosen.checkpoint:
        from layoutray import checkpoint
        from layoutray.tracking import registered

        folder, _ = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
        plain = checkpoint.load(folder).provenance.get("documents")
        if plain is None:
            raise InputError(
                f"{chosen.checkpoint} does not say what its documents were like; run `layoutray calibrate`"
            )
        reference = Reference.from_json(plain)
    documents = _documents(chosen)
    if not documents:
        raise InputError(f"{chosen.answers} has no answered documents; answer some with `layoutray predict`")
    if reference is None and len(documents) <= FIRST:
        raise InputError(
            f"{chosen.answers} has {len(documents)} documents, and the first {FIRST} are the reference of the others; "
            "give more, or --checkpoint with one that `layoutray calibrate` has written"
        )
    found = drift(documents, reference)
    _show(found)
    if chosen.csv:
        rows = [(rank, one.doc_id, one.source) for rank, one in enumerate(found.shown_by, 1)]
        shards.write_file(csv_file([("rank", "doc_id", "source"), *rows]), chosen.csv)
    terminal.show_report(asdict(found), chosen.json)
    return 0


def _documents(chosen: DriftOptions) -> "list[tuple[Place, Observed]]":
    from layoutray.review.answered_folder import answered_documents
    from layoutray.review.drift import of_answers, of_review
    from layoutray.review.store import ReviewStore
    from layoutray.store import sources
    from layoutray.store.answer_set import pages_folder

    if Path(chosen.answers).is_file():
        store = ReviewStore.open(chosen.answers, create=False)
        found = [*of_review(store)]
        store.close()
        return found
    return of_answers(
        answered_documents(chosen.answers, sources.absolute(chosen.pages or pages_folder(chosen.answers)))
    )


def _show(found: "Drift") -> None:
    from layoutray.metrics.drift import FALSE_ALARM_EVERY

    if found.alarm is None or found.since is None:
        terminal.say(
            f"no alarm in {found.documents} documents: chance alone gives the present evidence once in "
            f"{found.evidence:,.0f} documents, and an alarm once in {FALSE_ALARM_EVERY:,}"
        )
        return
    rows = [(one.signal, f"{one.before:.4g}", f"{one.since:.4g}", f"{one.evidence:.1e}") for one in found.signals]
    terminal.show_table("Documents have changed", ("signal", "median before", "median since", "evidence"), rows)
    terminal.say(f"since about {_named(found.since)}; noticed at {_named(found.alarm)}; most unlike the others:")
    for one in found.shown_by:
        terminal.say(f"* {_named(one)}: {', '.join(f'{name} {value:.3g}' for name, value in one.signals.items())}")


def _named(document: "Place") -> str:
    when = f" ({datetime.fromtimestamp(document.time):%Y-%m-%d %H:%M})" if document.time else ""
    return f"{document.source or document.doc_id}{when}"
