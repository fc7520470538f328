"""A picture of the attention over a page, from a title, a table or chosen words; its MLflow run gets it too."""

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.figures import attention_map
from benchmarks.measure.unit_attention import attention_from
from layoutray import checkpoint
from layoutray.cli.picture.words import PageChoice, file_name
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import CheckpointOptions, option
from layoutray.document import Box, Page
from layoutray.document.tags import kind_of
from layoutray.errors import InputError
from layoutray.report import png
from layoutray.report.page_picture import page_picture
from layoutray.store.data_set import DataSet
from layoutray.tracking import registered, runs


@dataclass(frozen=True, kw_only=True)
class AttentionOptions(PageChoice, CheckpointOptions):
    """Options of the command. Exactly one of `unit`, `words` and `box` is given."""

    unit: str | None = option(
        "--unit",
        group="words",
        metavar="LABEL",
        help="attention from all words of this label or entity type, e.g. title or table",
    )
    words: str | None = option(
        "--words", group="words", metavar="FIRST-LAST", help="from these words of the page, counted from 0"
    )
    box: str | None = option(
        "--box",
        group="words",
        metavar="X0,Y0,X1,Y1",
        help="from the words whose centre is in this box, in shares of the page",
    )
    layer: int | None = option(
        "--layer", type=int, help="layer, counted from 0, for models with attention per layer (default: the last)"
    )
    out: Path = options.picture_file("attention.png")


def main(arguments: Sequence[str]) -> int:
    made = argparse.ArgumentParser(prog="python -m benchmarks attention", description=__doc__)
    made = options.with_fields(made, options.declared(AttentionOptions))
    chosen = options.parse(made, arguments, AttentionOptions)
    if not (chosen.unit or chosen.words or chosen.box):
        raise InputError("no words are selected; give one of --unit, --words and --box")
    name, select = _selector(chosen)
    folder, _ = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
    loaded = checkpoint.load(folder)
    page, words = _page(chosen, name, select)
    attention = attention_from(words, page, loaded, chosen.layer)
    attended = np.count_nonzero(attention.words)
    outside = attention_map.percent(max(0.0, 1 - attention.words.sum()))
    caption = [
        f"Attention of {loaded.recipe.name} ({loaded.recipe.arch}) from {name}, {len(words)} words",
        f"{file_name(page.source)}, page {page.number}",
        f"Mean over {attention.heads} heads and {attention.tokens} tokens; {attended} of {len(page.words)} words are "
        f"attended to; {outside} of the attention goes to no word",
    ]
    picture = png.png(attention_map.draw(page_picture(page), page, words, attention.words, caption))
    if run := runs.noted(folder, chosen.tracking_uri):
        run.log_picture(chosen.out.stem, picture)
    return terminal.show_picture(picture, chosen.out)


def _selector(chosen: AttentionOptions) -> tuple[str, Callable[[Page], list[int]]]:
    """The name of the selected words for captions, and the function that gives their numbers on a page."""
    if chosen.unit:
        return chosen.unit, lambda page: [
            number for number, word in enumerate(page.words) if kind_of(word.tag or "") == chosen.unit
        ]
    if chosen.words:
        match = re.fullmatch(r"(\d+)-(\d+)", chosen.words)
        if match is None or int(match[1]) > int(match[2]):
            raise InputError(
                f"--words is {chosen.words!r}; it must be FIRST-LAST with FIRST <= LAST, counted from 0, e.g. 10-25"
            )
        first, last = int(match[1]), int(match[2])
        return f"words {first} to {last}", lambda page: list(range(first, last + 1)) if last < len(page.words) else []
    try:
        x0, y0, x1, y1 = map(float, (chosen.box or "").split(","))
    except ValueError:
        raise InputError(
            f"--box is {chosen.box!r}; it must be X0,Y0,X1,Y1 in shares of the page, e.g. 0.1,0.05,0.9,0.2"
        ) from None
    box = Box(x0, y0, x1, y1)

    def inside(word: Box) -> bool:
        return box.x0 <= (word.x0 + word.x1) / 2 <= box.x1 and box.y0 <= (word.y0 + word.y1) / 2 <= box.y1

    return f"box {chosen.box}", lambda page: [number for number, word in enumerate(page.words) if inside(word.box)]


def _page(chosen: AttentionOptions, name: str, select: Callable[[Page], list[int]]) -> tuple[Page, list[int]]:
    """The first candidate page with words called `name`, and the numbers of these words.

    A document's first page comes first: models always read it, while later pages may be truncated.
    """
    best: tuple[Page, list[int]] | None = None
    count, labels = 0, set[str]()
    pages = DataSet(chosen.pages).read_pages(chosen.rows())
    for page in (one for one in pages if chosen.has_source(one.source)):
        count += 1
        labels |= {kind_of(word.tag) for word in page.words if word.tag}
        is_first = best is None or (page.doc_id, page.number) < (best[0].doc_id, best[0].number)
        if is_first and (words := select(page)):
            best = page, words
    if best:
        return best
    raise InputError(
        f"none of {count} pages with a picture in {chosen.pages} that match the options has {name}; labels there: "
        f"{', '.join(sorted(labels)) or 'none'}; see the columns page_id, source and tags of its PAGES"
    )
