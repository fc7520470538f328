"""`layoutray promote`: make the candidate of a registered model its champion, if it is not worse."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutray.cli.shared import checked, options, terminal
from layoutray.cli.shared.options import option
from layoutray.errors import InputError

if TYPE_CHECKING:
    from layoutray.checkpoint import Checkpoint
    from layoutray.evaluation.replacement import ComparedF1


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
    json: str | None = options.report_file()
    tracking_uri: str = options.tracking_uri()


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options.given("promote", arguments, PromoteOptions)
    # Imported here because PyTorch takes seconds, for which `--help` shall not wait.
    from layoutray.evaluation.page_selection import PageSelection
    from layoutray.evaluation.replacement import compare
    from layoutray.tracking import registered
    from layoutray.tracking.registered import CANDIDATE, CHAMPION

    champion, candidate = (_version(chosen, alias) for alias in (CHAMPION, CANDIDATE))
    if champion == candidate:
        raise InputError(f"version {champion} of {chosen.name} is candidate and champion; register another one first")
    selection = PageSelection(tuple(chosen.pages), chosen.split)
    comparison = compare(_load(chosen, champion), _load(chosen, candidate), selection)
    title = f"{chosen.name}: F1 on {selection.name}, {comparison.documents} documents"
    columns = ("", f"champion, version {champion}", f"candidate, version {candidate}", "difference", "95 % interval")
    compared = {"all": comparison.overall, **comparison.by_name}
    terminal.show_table(title, columns, [_row(name, one) for name, one in compared.items()])
    objections = comparison.objections(chosen.margin)
    report = {
        "champion": champion,
        "candidate": candidate,
        "promoted": not objections,
        "objections": objections,
        "documents": comparison.documents,
        "f1": {name: _plain(one) for name, one in compared.items()},
    }
    terminal.show_report(report, chosen.json)
    if objections:
        reasons = "\n".join(f"* {objection}" for objection in objections)
        terminal.say(f"version {candidate} is not promoted, version {champion} stays champion:\n{reasons}")
        return 1
    registered.promote(chosen.name, candidate, chosen.tracking_uri)
    terminal.say(f"models:/{chosen.name}@{CHAMPION} is now version {candidate}; `layoutray rollback` undoes this")
    return 0


def _version(chosen: PromoteOptions, alias: str) -> str:
    from layoutray.tracking import registered

    return registered.version_of(registered.resolve(f"models:/{chosen.name}@{alias}", chosen.tracking_uri))


def _load(chosen: PromoteOptions, version: str) -> "Checkpoint":
    from layoutray import checkpoint
    from layoutray.tracking import registered

    folder, _ = registered.checkpoint_folder(f"models:/{chosen.name}/{version}", chosen.tracking_uri)
    return checkpoint.load(folder)


def _row(name: str, one: "ComparedF1") -> tuple[object, ...]:
    difference = one.difference
    interval = f"{difference.low:+.3f} to {difference.high:+.3f}"
    return name, f"{one.champion:.3f}", f"{one.candidate:.3f}", f"{difference.value:+.3f}", interval


def _plain(one: "ComparedF1") -> dict[str, float]:
    difference = {"difference": one.difference.value, "low": one.difference.low, "high": one.difference.high}
    return {"champion": one.champion, "candidate": one.candidate, **difference}
