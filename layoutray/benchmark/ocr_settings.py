"""Which OCR settings find the most words: recall and precision on real pages whose words are known.

Pictures: a data set's own annotation is the truth. Born-digital PDF files: a page's text layer is. Recall and precision
compare bags of words, whatever their order; the order counts in pairs of neighbours, which a reader that runs across columns
breaks. Choose on training pages, state the choice's numbers on others.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from layoutray import ocr, readers
from layoutray.metrics.word_recall import word_recall
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.preprocess import preprocess
from layoutray.ocr.render import render_page
from layoutray.ocr.settings import Preprocessing, Recognition, TesseractSettings
from layoutray.store import sources

Choice = TypeVar("Choice")

HEADING = ("data", "variant", "pages", "recall", "precision", "in order", "s/page")


@dataclass(frozen=True, slots=True)
class Sample:
    """A page whose words are known."""

    file: bytes
    page: int
    truth: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One variant on one set of pages; shares are means over pages, 0..1.

    Attributes:
        in_order: share of the true pairs of neighbouring words that were read as neighbours.
    """

    data: str
    variant: str
    pages: int
    recall: float
    precision: float
    in_order: float
    seconds_per_page: float

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of HEADING."""
        shares = (f"{share:.3f}" for share in (self.recall, self.precision, self.in_order))
        return self.data, self.variant, str(self.pages), *shares, f"{self.seconds_per_page:.2f}"


def variants() -> dict[str, Recognition]:
    """The default settings, and what comes of changing one of them at a time."""
    default = Recognition()
    steps, tesseract = default.preprocessing, default.tesseract
    changed_steps: dict[str, Preprocessing] = {
        **{f"width {width}": replace(steps, width=width) for width in (0, 1000, 1200, 1600, 2000, 2400)},
        **{f"clahe {limit}": replace(steps, clahe=limit) for limit in (0.0, 1.0, 2.0, 4.0)},
        "dilate 2": replace(steps, dilate=2),
        "erode 2": replace(steps, erode=2),
        "deskew": replace(steps, deskew=True),
    }
    changed_modes: dict[str, TesseractSettings] = {
        f"psm {mode}": replace(tesseract, psm=mode) for mode in (3, 4, 6, 11)
    }
    return {
        "default": default,
        **{
            name: replace(default, preprocessing=changed) for name, changed in changed_steps.items() if changed != steps
        },
        **{
            name: replace(default, tesseract=changed) for name, changed in changed_modes.items() if changed != tesseract
        },
    }


def annotated_pictures(reader: str, root: str, split: str, limit: int) -> list[Sample]:
    """Up to `limit` pages of data set `reader` that have both a picture and words, spread evenly over `split` ("" for all)."""
    source = readers.load(reader)
    items = [item for item in source.discover(root) if item.image and item.annotation and split in ("", item.split)]
    samples: list[Sample] = []
    for item in _spread(items, limit):
        samples += [
            Sample(sources.read_bytes(item.image), 1, tuple(word.text for word in page.words))
            for page in source.read(item).pages
        ]
    return samples


def born_digital_pages(root: str, limit: int) -> list[Sample]:
    """The first page of up to `limit` PDF files below `root` whose text layer is usable: it is the truth."""
    settings = Recognition()
    found: list[Sample] = []
    for uri in _spread([uri for uri in sources.list_files(root) if uri.lower().endswith(".pdf")], limit):
        file = sources.read_bytes(uri)
        with pdf.opened(file, settings) as document, pdf.opened_page(document, 1) as page:
            layer = pdf_text.read(page)
        if pdf_text.has_usable_text(layer, settings)[0]:
            found.append(Sample(file, 1, tuple(word.text for word in layer.words)))
    return found


def measure(data: str, samples: Sequence[Sample], choices: Mapping[str, Recognition]) -> Iterator[Row]:
    """A row for each of `choices` on `samples` (at least one), as soon as it is known; times are rendering, preprocessing and OCR, here."""
    for name, settings in choices.items():
        started = time.perf_counter()
        found = [_read(sample, settings) for sample in samples]
        seconds = time.perf_counter() - started
        shares = [_shares(texts, sample.truth) for texts, sample in zip(found, samples, strict=True)]
        recall, precision, in_order = (sum(column) / len(shares) for column in zip(*shares, strict=True))
        yield Row(data, name, len(samples), recall, precision, in_order, seconds / len(samples))


def _read(sample: Sample, settings: Recognition) -> tuple[str, ...]:
    picture = preprocess(render_page(sample.file, sample.page, settings).image, settings.preprocessing).image
    return tuple(word.text for word in ocr.load(settings.engine).recognise(picture, settings.tesseract))


def _shares(found: Sequence[str], truth: Sequence[str]) -> tuple[float, float, float]:
    recall, precision = word_recall(found, truth)
    return recall, precision, word_recall(_neighbours(found), _neighbours(truth))[0]


def _neighbours(texts: Sequence[str]) -> Iterator[str]:
    """Each word glued to the next one, marks aside."""
    words = ["".join(filter(str.isalnum, text)) for text in texts]
    return map("".join, pairwise(word for word in words if word))


def _spread(items: list[Choice], limit: int) -> list[Choice]:
    """At most `limit` of `items`, at even distances."""
    step = max(len(items) / max(limit, 1), 1.0)
    return [items[int(index * step)] for index in range(min(limit, len(items)))]
