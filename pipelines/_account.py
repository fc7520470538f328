"""The account of an ingest at the terminal, and the share of dead pages that it may have."""

import argparse

from layoutray.errors import LayoutrayError
from layoutray.prepare.manifest import Manifest
from pipelines import _terminal as terminal


def share(text: str) -> float:
    """For `type=` of an option: a part of 1. Raises argparse's error for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no share; give a number from 0 to 1, such as 0.01 for one page in a hundred"
        )
    return value


def show(manifest: Manifest, out: str) -> None:
    """What went in, what came out, and how fast."""
    rows = [
        ("documents", manifest.documents_in, manifest.documents_out, manifest.documents_dead, len(manifest.duplicates)),
        ("pages", manifest.pages_in, manifest.pages_out, manifest.pages_dead, ""),
    ]
    terminal.show_table(f"Ingest of {manifest.source}", ("", "in", "out", "dead letters", "duplicates"), rows)
    if manifest.duplicates:
        first = manifest.duplicates[0]
        terminal.say(
            f"{len(manifest.duplicates)} documents have the bytes of another, which stands for both with its own values and labels alone, "
            f"such as {first['same_as']} for {first['source']}"
        )
    if manifest.without_picture:
        terminal.say(
            f"{manifest.without_picture} documents come without a picture; words = 'annotation' takes the words that the set ships"
        )
    if manifest.reasons:
        terminal.say(f"dead letters: {_reasons(manifest)}")
    if manifest.known_from_train:
        terminal.say(
            f"{manifest.known_from_train} pages of dev and test have word for word the text of a training page"
        )
    run = manifest.run
    before = manifest.pages_in - run.pages
    speed = (
        f"{run.pages} pages done in {run.seconds:.1f} s ({run.pages_per_second:.2f} pages/s)"
        if run.pages
        else "nothing left to do"
    )
    terminal.say(f"{speed}{f', {before} done before' if before else ''}; written to {out}")


def check(manifest: Manifest, most: float | None, out: str) -> None:
    """Raise LayoutrayError when a larger share of pages than `most` died."""
    if most is not None and manifest.dead_rate > most:
        raise LayoutrayError(
            f"{manifest.dead_rate:.2%} of pages are dead letters ({_reasons(manifest)}), more than --max-dead-rate {most:.2%}; "
            f"all others are in {out}; see `layoutray dead-letters list {out}`"
        )


def _reasons(manifest: Manifest) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in manifest.reasons.items())
