"""`layoutray picture answers`: the values that a model has found, drawn on the pages of a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutray.cli.picture.words import file_name
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.document.answers import Entity, Region
from layoutray.errors import InputError
from layoutray.report import overlay, png
from layoutray.report.page_picture import page_picture
from layoutray.review.answered_folder import answered_documents
from layoutray.store import sources
from layoutray.store.answer_set import pages_folder


@dataclass(frozen=True, kw_only=True)
class AnswersOptions:
    """Options of `layoutray picture answers`."""

    answers: str = option(help="folder written by `layoutray predict`")
    pages: str | None = option(
        "--pages", metavar="FOLDER", help="pages that were answered, if `predict` did not read them from files itself"
    )
    source: str = option(
        "--source",
        metavar="TEXT",
        default="",
        help="draw the first document whose file name contains TEXT (default: the first)",
    )
    out: Path = options.picture_file("answers.png", (".png", ".pdf"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the first page of a document as a PNG, or all of its pages as a PDF."""
    chosen = options.given("picture answers", arguments, AnswersOptions)
    answers = sources.absolute(chosen.answers)
    every = answered_documents(answers, sources.absolute(chosen.pages or pages_folder(answers)))
    named = [one for one in every if chosen.source in file_name(one.source)]
    if not named:
        raise InputError(f"no document answered in {chosen.answers} has {chosen.source!r} in the name of its file")
    document = min(named, key=lambda one: one.source)
    types = sorted({one.name for one in document.said})
    entities = [
        Entity(
            type=one.name,
            content=one.text,
            confidence=one.confidence,
            bounding_regions=tuple(Region(one.page, polygon) for polygon in one.polygons),
            words=one.words,
        )
        for one in document.said
        if one.page is not None
    ]
    drawn = [page for page in document.pages if page.image]
    if not drawn:
        raise InputError(f"{document.source} has no pictures of its pages; answer pages that were read from files")
    pictures = (overlay.draw(page_picture(page), entities, page_number=page.number, types=types) for page in drawn)
    png.write(pictures, chosen.out)
    return terminal.show_path(chosen.out)
