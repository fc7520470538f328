"""The summary of an ingest at the terminal, and the check of its share of dead pages."""

from typing import TYPE_CHECKING

from layoutray.cli.shared import terminal
from layoutray.errors import LayoutrayError
from layoutray.prepare.language import CERTAIN, Decision
from layoutray.prepare.manifest import Manifest
from layoutray.store import sources
from layoutray.store.data_set import TRUTH_LIST, TRUTH_SHEET

if TYPE_CHECKING:
    from layoutray.prepare.truth_check import TruthCheck

_MOST_PAGES = 5
"""Page numbers of which the labels are counted at the terminal."""


def show(manifest: Manifest, out: str) -> None:
    rows = [
        ("documents", manifest.documents_in, manifest.documents_out, manifest.documents_dead, len(manifest.duplicates)),
        ("pages", manifest.pages_in, manifest.pages_out, manifest.pages_dead, ""),
    ]
    terminal.show_table(f"Ingest of {manifest.source}", ("", "in", "out", "dead letters", "duplicates"), rows)
    if manifest.language:
        decision = Decision(**manifest.language)
        terminal.say(
            f"language: {decision.language} with certainty {decision.certainty:.2f}; "
            f"first pages that decided: {decision.pages}"
        )
        if decision.certainty < CERTAIN:
            others = ", ".join(f"{code} {share:.2f}" for code, share in decision.others.items()) or "none above 0.05"
            terminal.say(
                f"the language is doubtful (certainty below {CERTAIN}; others: {others}): if it is wrong, or there "
                "are several, ingest into another folder with --set recognition.rapidocr.language=CODE+CODE"
            )
    if manifest.duplicates:
        first = manifest.duplicates[0]
        terminal.say(
            f"{len(manifest.duplicates)} documents have the same bytes as another and are left out, with their values "
            f"and labels, e.g. {first['source']}, which equals {first['same_as']}"
        )
    if manifest.without_picture:
        terminal.say(
            f"{manifest.without_picture} documents have no picture; "
            "words = 'annotation' takes the words of the data set"
        )
    if manifest.reasons:
        terminal.say(f"dead letters: {_reasons(manifest)}; `layoutray dead-letters list {out}` names them")
    if manifest.known_from_train:
        terminal.say(f"{manifest.known_from_train} pages of dev and test have exactly the text of a training page")
    if manifest.form_fields:
        differing = manifest.form_fields_differing
        lying = f"; {len(differing)} state another value than the page shows, e.g. {differing[0]}" if differing else ""
        terminal.say(f"{manifest.form_fields} form fields{lying}")
    run, earlier = manifest.run, manifest.pages_in - manifest.run.pages
    done = f"{run.pages} pages done in {run.seconds:.1f} s ({run.pages_per_second:.2f} pages/s)"
    done_before = f", {earlier} done before" if earlier else ""
    terminal.say(f"{done if run.pages else 'nothing left to do'}{done_before}; written to {out}")


def show_truth(check: "TruthCheck", out: str) -> None:
    """Say how many labels were found where, and which are the most suspicious; not what they say."""
    counts = check.counts()
    pages = ", ".join(f"{count} on page {number}" for number, count in [*counts["pages"].items()][:_MOST_PAGES])
    lost = f"; not found in their document: {counts['not_found']}" if check.not_found else ""
    terminal.say(f"labels of {check.documents} documents: {len(check.found)} found ({pages}){lost}")
    rows = [(one.name, sources.name(one.source), one.places[0].page.number, one.why) for one in check.suspicious]
    if rows:
        terminal.show_table("Labels to look at first", ("label", "document", "page", "why"), rows)
    sheet = f"look at {sources.join(out, TRUTH_SHEET)}; " if check.has_sheet else ""
    terminal.say(f"{sheet}all that are suspicious or were not found: {sources.join(out, TRUTH_LIST)}")


def check_dead_rate(manifest: Manifest, limit: float | None, out: str) -> None:
    """Raise LayoutrayError if the share of dead pages is over `limit`."""
    if limit is not None and manifest.dead_rate > limit:
        raise LayoutrayError(
            f"{manifest.dead_rate:.2%} of pages are dead letters ({_reasons(manifest)}), more than "
            f"--max-dead-rate {limit:.2%}; all other pages are in {out}; see `layoutray dead-letters list {out}`"
        )


def _reasons(manifest: Manifest) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in manifest.reasons.items())
