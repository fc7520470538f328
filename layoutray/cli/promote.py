"""`layoutray promote`: make the candidate of a registered model its champion, if it is not worse."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import option
from layoutray.errors import InputError

if TYPE_CHECKING:
    from layoutray.checkpoint import Checkpoint
    from layoutray.evaluation.replacement import ComparedF1
    from layoutray.review.values import Prediction


@dataclass(frozen=True, kw_only=True)
class PromoteOptions:
    """Options of `layoutray promote`."""

    name: str = option(help="registered model, without models:/ and alias")
    pages: Sequence[str] = option(
        "--on", nargs="+", required=True, metavar="PAGES", help="folders written by `layoutray ingest`"
    )
    split: str = options.split("dev")
    margin: float = option(
        "--margin",
        type=checked.share,
        default=0.01,
        help="promote only if the documents rule out a larger loss of F1 than this (default: %(default)s)",
    )
    canaries: Sequence[str] | None = option(
        "--canaries",
        nargs="*",
        metavar="PAGES",
        help="folders of documents to which both versions show their answers; later promotions of the model use them "
        "too, until others, or none, are given",
    )
    differences: Path | None = option(
        "--differences",
        type=checked.local_folder,
        metavar="FOLDER",
        help="folder for `layoutray review`: the canary documents to which the answers differ",
    )
    yes: bool = option("--yes", action="store_true", help="promote although answers to canary documents differ")
    json: str | None = options.report_file()
    tracking_uri: str = options.tracking_uri()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("promote", arguments, PromoteOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray import checkpoint
    from layoutray.evaluation.page_selection import PageSelection
    from layoutray.evaluation.replacement import compare
    from layoutray.tracking import registered
    from layoutray.tracking.registered import CANDIDATE, CHAMPION

    named = (f"models:/{chosen.name}@{alias}" for alias in (CHAMPION, CANDIDATE))
    (old, champion), (new, candidate) = (registered.checkpoint_folder(one, chosen.tracking_uri) for one in named)
    if champion == candidate:
        raise InputError(f"version {champion} of {chosen.name} is candidate and champion; register another one first")
    selection = PageSelection(tuple(chosen.pages), chosen.split)
    before, after = checkpoint.load(old), checkpoint.load(new)
    comparison = compare(before, after, selection)
    title = f"{chosen.name}: F1 on {selection.name}, {comparison.documents} documents"
    columns = ("", f"champion, version {champion}", f"candidate, version {candidate}", "difference", "95 % interval")
    compared = {"all": comparison.overall, **comparison.by_name}
    terminal.show_table(title, columns, [_row(name, one) for name, one in compared.items()])
    objections = comparison.objections(chosen.margin)
    outcomes = _ask_canaries(chosen, before, after, (champion, candidate))
    if (count := outcomes.total() - outcomes["same"]) and not chosen.yes:
        objections.append(f"{count} answers to canary documents differ; look at them, then give --yes to promote")
    report = {
        "champion": champion,
        "candidate": candidate,
        "promoted": not objections,
        "objections": objections,
        "documents": comparison.documents,
        "f1": {name: _plain(one) for name, one in compared.items()},
        "canaries": outcomes,
    }
    terminal.show_report(report, chosen.json)
    if objections:
        reasons = "\n".join(f"* {objection}" for objection in objections)
        terminal.say(f"version {candidate} is not promoted, version {champion} stays champion:\n{reasons}")
        return 1
    registered.promote(chosen.name, candidate, chosen.tracking_uri)
    terminal.say(f"models:/{chosen.name}@{CHAMPION} is now version {candidate}; `layoutray rollback` undoes this")
    return 0


def _row(name: str, one: "ComparedF1") -> tuple[object, ...]:
    difference = one.difference
    interval = f"{difference.low:+.3f} to {difference.high:+.3f}"
    return name, f"{one.champion:.3f}", f"{one.candidate:.3f}", f"{difference.value:+.3f}", interval


def _ask_canaries(
    chosen: PromoteOptions, before: "Checkpoint", after: "Checkpoint", versions: tuple[str, str]
) -> Counter[str]:
    """Show which answers to canary documents differ. Returns the number of answers by outcome."""
    from layoutray.evaluation.canaries import answer_again
    from layoutray.evaluation.disagreements import write_queue
    from layoutray.store import sources
    from layoutray.tracking import registered

    kept = registered.canaries(chosen.name, chosen.tracking_uri)
    folders = kept if chosen.canaries is None else [*map(sources.absolute, chosen.canaries)]
    canaries = [*answer_again(before, after, folders)]
    if folders != kept:
        registered.keep_canaries(chosen.name, folders, chosen.tracking_uri)
    outcomes = Counter(answer.outcome for one in canaries for answer in one.answers)
    differing = [one for one in canaries if one.differences]
    rows = [
        (one.name, answer.name, _said(answer.before), _said(answer.after), answer.outcome)
        for one in differing
        for answer in one.differences
    ]
    if rows:
        columns = ("document", "field", f"version {versions[0]}", f"version {versions[1]}", "")
        terminal.show_table("Canary documents: answers that differ", columns, rows)
        if chosen.differences:
            write_queue(chosen.differences, (one.for_review(chosen.name, *versions) for one in differing))
    if folders:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        terminal.say(f"answers to {len(canaries)} canary documents: {counts or 'none'}")
    return outcomes


def _said(answer: "Prediction | None") -> str:
    return f"{answer.value or answer.text} ({answer.confidence:.2f}{', accepted' * answer.accepted})" if answer else "-"


def _plain(one: "ComparedF1") -> dict[str, float]:
    difference = {"difference": one.difference.value, "low": one.difference.low, "high": one.difference.high}
    return {"champion": one.champion, "candidate": one.candidate, **difference}
