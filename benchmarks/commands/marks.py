"""Check boxes, radio buttons and signatures: how many are found, on scans and on pages that have none."""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from benchmarks.measure import mark_network
from benchmarks.measure.mark_drawings import marked_form
from benchmarks.measure.marked_pages import MarkedPage, Score, drawn_pages, funsd_pages, score, unseen_form
from benchmarks.measure.signed_pages import SignedScore, scores, signed_page
from benchmarks.measure.spread import Spread
from layoutray.cli.shared import terminal
from layoutray.cli.shared.checked import positive
from layoutray.ocr import marks, pdf
from layoutray.ocr.settings import Recognition
from layoutray.synthetic.forms import form
from layoutray.synthetic.render import bill

_NONE = np.zeros((0, 4)), np.zeros(0, np.bool_)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks marks", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the data sets funsd, sroie and kleister-nda")
    parser.add_argument("--pages", type=positive, default=60, help="pages of each kind and seed (default: %(default)s)")
    parser.add_argument("--seeds", nargs="+", default=["101", "102", "103"], help="of generated pages")
    parser.add_argument("--train", type=Path, metavar="FILE", help="train the network, and write it to this file")
    parser.add_argument("--shapes", type=positive, default=2200, help="generated pages to train on")
    parser.add_argument("--fonts", type=Path, metavar="FOLDER", help="TrueType fonts for the training")
    parser.add_argument("--steps", type=positive, default=30_000)
    options = parser.parse_args(arguments)
    if options.train:
        shapes = mark_network.shapes_of("network", options.shapes, options.fonts)
        mark_network.train(shapes, options.steps, 0, options.train, terminal.say)
        return 0
    rows = [
        _row("generated scans", [drawn_pages(seed, options.pages, marked_form) for seed in options.seeds]),
        _row(
            "generated scans, other drawings", [drawn_pages(seed, options.pages, unseen_form) for seed in options.seeds]
        ),
        _row("FUNSD, test forms", [funsd_pages(options.data / "funsd")]),
        _row("drawn bills, no marks", [drawn_pages(seed, options.pages, bill) for seed in options.seeds]),
        _row("SROIE, no marks", [_receipts(options.data / "sroie")]),
        _row("agreements, no marks", [_agreements(options.data / "kleister-nda", options.pages)]),
    ]
    columns = ("pages", "number", "marks", "F1 of places", "F1 of states", "pages with a false mark", "CPU ms a page")
    terminal.show_table("Marks", columns, rows)
    signed = [
        _signed_row(name, [[*scores(seed, options.pages, how)] for seed in options.seeds])
        for name, how in (("scans with labels", signed_page), ("forms, not signed", form), ("bills, not signed", bill))
    ]
    columns = ("pages", "number", "signed", "F1 of signed", "unsigned", "F1 of unsigned", "signed by mistake")
    terminal.show_table("Signatures", columns, signed)
    return 0


def _signed_row(name: str, sets: Sequence[Sequence[tuple[SignedScore, SignedScore]]]) -> tuple[str, ...]:
    """Of each seed's pages."""
    nothing = SignedScore(0, 0, 0)
    by_state = [[sum((page[state] for page in pages), nothing) for pages in sets] for state in (0, 1)]
    signed, unsigned = (sum(of_seeds, nothing) for of_seeds in by_state)
    shown = [str(Spread.of([one.f1 for one in of_seeds])) if of_seeds[0].true else "–" for of_seeds in by_state]
    wrong = str(signed.found - signed.right)
    return name, str(sum(map(len, sets))), str(signed.true), shown[0], str(unsigned.true), shown[1], wrong


def _row(name: str, sets: Sequence[Iterable[MarkedPage]]) -> tuple[str, ...]:
    """Of each seed's pages."""
    measured = [_measured(pages) for pages in sets]
    total = sum((one for scores, _ in measured for one in scores), Score(0, 0, 0, 0))
    count = sum(len(scores) for scores, _ in measured)
    wrong = sum(one.found > one.placed for scores, _ in measured for one in scores)

    def shown(value: Callable[[Score], float]) -> str:
        return str(Spread.of([value(sum(scores, Score(0, 0, 0, 0))) for scores, _ in measured])) if total.true else "–"

    milliseconds = 1000 * sum(seconds for _, seconds in measured) / count
    states, places = shown(lambda one: one.f1), shown(lambda one: one.f1_of_places)
    return name, str(count), str(total.true), places, states, str(wrong), f"{milliseconds:.0f}"


def _measured(pages: Iterable[MarkedPage]) -> tuple[list[Score], float]:
    """The score of each page, and CPU seconds of all."""
    scores: list[Score] = []
    seconds = 0.0
    for page in pages:
        started = time.process_time()
        found = marks.find(page.picture, page.words)
        seconds += time.process_time() - started
        scores.append(score(page, found))
    return scores, seconds


def _receipts(root: Path) -> Iterator[MarkedPage]:
    for path in sorted(root.glob("**/*.jpg")):
        yield MarkedPage(np.asarray(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE), np.uint8), *_NONE)


def _agreements(root: Path, count: int) -> Iterator[MarkedPage]:
    """The first pages of agreements."""
    settings = Recognition(dpi=150)
    for path in sorted((root / "documents").glob("*.pdf"))[:count]:
        with pdf.opened(path.read_bytes(), settings) as document, pdf.opened_page(document, 1) as page:
            yield MarkedPage(pdf.render(page, settings).image, *_NONE)
