"""Compare OCR settings: word recall and precision on real pages whose words are known.

The ground truth of a picture is its data set's annotation; that of a born-digital PDF file is its text layer. Recall
and precision compare bags of words, so word order does not matter. Pairs of neighbouring words measure the order:
reading across columns breaks them. Boxes are compared for words that were read right. Choose settings on training pages
and report their scores on other pages.
"""

import math
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from layoutray import config, readers
from layoutray.document import Box, Word
from layoutray.metrics.word_recall import word_recall
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.store import sources

Item = TypeVar("Item")

HEADING = ("data", "variant", "pages", "recall", "precision", "in order", "box IoU", "CPU s/page")


@dataclass(frozen=True, slots=True)
class KnownPage:
    """The first page of a file, whose words are known."""

    file: bytes
    truth: tuple[Word, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsScore:
    """One variant of the settings on one set of pages; shares are means, 0..1, and NaN if there is nothing to count.

    Attributes:
        recall, precision: over the pages with true words, and with recognised words.
        in_order: recall of pairs of neighbouring words.
        box_iou: intersection over union of the boxes of words that were read right, mean over all of them.
        seconds_per_page: processor time, rendering and started programs included.
    """

    data: str
    variant: str
    pages: int
    recall: float
    precision: float
    in_order: float
    box_iou: float
    seconds_per_page: float

    def cells(self) -> tuple[str, ...]:
        """The values as text, in the order of HEADING."""
        shares = (f"{share:.3f}" for share in (self.recall, self.precision, self.in_order, self.box_iou))
        return self.data, self.variant, str(self.pages), *shares, f"{self.seconds_per_page:.2f}"


def variant(assignments: str) -> Recognition:
    """Recognition with `KEY=VALUE` assignments to its keys, separated by spaces. It never uses text layers.

    Raises:
        RecipeError: for an unknown key or a wrong value.
    """
    return config.build(Recognition, config.override({"text_layer": "never"}, assignments.split()), "recognition")


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
        pages += [KnownPage(sources.read_bytes(reference.image), page.words) for page in source.read(reference).pages]
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
            pages.append(KnownPage(file, layer.words))
    return pages


def score_settings(
    data: str, pages: Sequence[KnownPage], settings: Mapping[str, Recognition]
) -> Iterator[SettingsScore]:
    """Yield the scores of each of `settings` on `pages` (at least one)."""
    for name, recognition in settings.items():
        started = sum(os.times()[:4])
        recognised = [recognise_page(page.file, 1, recognition).words for page in pages]
        seconds = sum(os.times()[:4]) - started
        scores = [_scores(words, page.truth) for words, page in zip(recognised, pages, strict=True)]
        recall, precision, in_order = (_mean(column) for column in zip(*scores, strict=True))
        overlaps = [one for words, page in zip(recognised, pages, strict=True) for one in _overlaps(words, page.truth)]
        yield SettingsScore(
            data=data,
            variant=name,
            pages=len(pages),
            recall=recall,
            precision=precision,
            in_order=in_order,
            box_iou=_mean(overlaps),
            seconds_per_page=seconds / len(pages),
        )


def _mean(shares: Sequence[float]) -> float:
    """The mean of those that are not NaN."""
    defined = [share for share in shares if not math.isnan(share)]
    return sum(defined) / len(defined) if defined else math.nan


def _scores(words: Sequence[Word], truth: Sequence[Word]) -> tuple[float, float, float]:
    texts, true_texts = [word.text for word in words], [word.text for word in truth]
    recall, precision = word_recall(texts, true_texts)
    return recall, precision, word_recall(_word_pairs(texts), _word_pairs(true_texts))[0]


def _overlaps(words: Sequence[Word], truth: Sequence[Word]) -> Iterator[float]:
    """For each true word, the overlap with the word of the same text that covers it best; without those that do not."""
    boxes: dict[str, list[Box]] = defaultdict(list)
    for word in words:
        boxes[word.text].append(word.box)
    for true in truth:
        if best := max((box.iou(true.box) for box in boxes[true.text]), default=0.0):
            yield best


def _word_pairs(texts: Sequence[str]) -> Iterator[str]:
    """Each word joined to the next one, without punctuation."""
    words = ["".join(filter(str.isalnum, part)) for text in texts for part in text.split()]
    return map("".join, pairwise(word for word in words if word))


def _spread(items: list[Item], limit: int) -> list[Item]:
    step = max(len(items) / max(limit, 1), 1.0)
    return [items[int(index * step)] for index in range(min(limit, len(items)))]
