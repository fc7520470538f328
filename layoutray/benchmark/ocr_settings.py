"""Compare OCR settings: word recall and precision on real pages whose words are known.

The ground truth of a picture is its data set's annotation; that of a born-digital PDF file is its text layer. Recall
and precision compare bags of words, so word order does not matter. Pairs of neighbouring words measure the order:
reading across columns breaks them. Choose settings on training pages and report their scores on other pages.
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

Item = TypeVar("Item")

HEADING = ("data", "variant", "pages", "recall", "precision", "in order", "s/page")


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page whose words are known."""

    file: bytes
    page: int
    truth: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SettingsScore:
    """One variant of the settings on one set of pages; recall, precision and in_order are means over pages, 0..1.

    Attributes:
        in_order: recall of pairs of neighbouring words.
    """

    data: str
    variant: str
    pages: int
    recall: float
    precision: float
    in_order: float
    seconds_per_page: float

    def cells(self) -> tuple[str, ...]:
        """The values as text, in the order of HEADING."""
        shares = (f"{share:.3f}" for share in (self.recall, self.precision, self.in_order))
        return self.data, self.variant, str(self.pages), *shares, f"{self.seconds_per_page:.2f}"


def variants() -> dict[str, Recognition]:
    """The default settings, and variants that each change one setting."""
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


def annotated_pictures(reader: str, root: str, split: str, limit: int) -> list[KnownPage]:
    """Pages with a picture and words, of at most `limit` documents spread evenly over `split` ("" for all)."""
    source = readers.load(reader)
    references = [
        reference
        for reference in source.discover(root)
        if reference.image and reference.annotation and split in ("", reference.split)
    ]
    pages: list[KnownPage] = []
    for reference in _spread(references, limit):
        pages += [
            KnownPage(sources.read_bytes(reference.image), 1, tuple(word.text for word in page.words))
            for page in source.read(reference).pages
        ]
    return pages


def born_digital_pages(root: str, limit: int) -> list[KnownPage]:
    """First pages of at most `limit` PDF files below `root`; files without a usable text layer are left out."""
    settings = Recognition()
    pages: list[KnownPage] = []
    for uri in _spread([uri for uri in sources.list_files(root) if uri.lower().endswith(".pdf")], limit):
        file = sources.read_bytes(uri)
        with pdf.opened(file, settings) as document, pdf.opened_page(document, 1) as page:
            layer = pdf_text.read(page)
        if pdf_text.has_usable_text(layer, settings)[0]:
            pages.append(KnownPage(file, 1, tuple(word.text for word in layer.words)))
    return pages


def score_settings(
    data: str, pages: Sequence[KnownPage], settings: Mapping[str, Recognition]
) -> Iterator[SettingsScore]:
    """Yield the scores of each of `settings` on `pages` (at least one); seconds include rendering and preprocessing."""
    for name, recognition in settings.items():
        started = time.perf_counter()
        recognised = [_recognise(page, recognition) for page in pages]
        seconds = time.perf_counter() - started
        scores = [_scores(texts, page.truth) for texts, page in zip(recognised, pages, strict=True)]
        recall, precision, in_order = (sum(column) / len(scores) for column in zip(*scores, strict=True))
        yield SettingsScore(data, name, len(pages), recall, precision, in_order, seconds / len(pages))


def _recognise(page: KnownPage, settings: Recognition) -> tuple[str, ...]:
    picture = preprocess(render_page(page.file, page.page, settings).image, settings.preprocessing).image
    return tuple(word.text for word in ocr.load(settings.engine).recognise(picture, settings.tesseract))


def _scores(texts: Sequence[str], truth: Sequence[str]) -> tuple[float, float, float]:
    recall, precision = word_recall(texts, truth)
    return recall, precision, word_recall(_word_pairs(texts), _word_pairs(truth))[0]


def _word_pairs(texts: Sequence[str]) -> Iterator[str]:
    """Each word joined to the next one, without punctuation."""
    words = ["".join(filter(str.isalnum, text)) for text in texts]
    return map("".join, pairwise(word for word in words if word))


def _spread(items: list[Item], limit: int) -> list[Item]:
    """At most `limit` of `items`, evenly spaced."""
    step = max(len(items) / max(limit, 1), 1.0)
    return [items[int(index * step)] for index in range(min(limit, len(items)))]
