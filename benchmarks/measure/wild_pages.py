"""How far the words of PDF pages are from those of independent readers, and whether every file and page is counted."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.measure.independent_words import NoWordsError, Pages, plain, readers
from layoutray.document import Box, Page, Word
from layoutray.metrics.word_recall import word_recall
from layoutray.ocr.render import Kind, sniff
from layoutray.prepare.manifest import Manifest
from layoutray.store import sources
from layoutray.store.data_set import DataSet

SECONDS = 60.0
"""Most time of an independent reader for a file."""
FAR_SHARE, FAR_BOXES = 0.95, 0.02
"""A page is far off if its recall or precision is lower, or a larger share of its boxes lies elsewhere."""
_SAME_LETTERS = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class PageComparison:
    """The words of a page beside those of one independent reader.

    Attributes:
        recall, precision: shares of the other reader's words that were read, and of the read words that it has; words
            are split at everything but letters and digits. NaN if there is no such word.
        same_letters: the lesser share of letters and digits that both have, whatever the words' limits.
        elsewhere: share of the words that both have whose box lies on no equal word of the other reader.
    """

    page: Page
    reader: str
    theirs: Sequence[Word]
    recall: float
    precision: float
    same_letters: float
    elsewhere: float

    @property
    def ours(self) -> list[Word]:
        """The words of the text layer, without those that OCR has added."""
        return _of_text_layer(self.page)

    @property
    def agreement(self) -> float:
        """The least of recall, precision and share of boxes in their place."""
        return float(np.nanmin([self.recall, self.precision, 1 - self.elsewhere]))

    @property
    def far_off(self) -> bool:
        return self.recall < FAR_SHARE or self.precision < FAR_SHARE or self.elsewhere > FAR_BOXES

    @property
    def kind(self) -> str:
        """What is far off."""
        if self.recall >= FAR_SHARE and self.precision >= FAR_SHARE:
            return "boxes elsewhere"
        if self.same_letters >= _SAME_LETTERS:
            return "words split otherwise"
        return "words missing" if self.recall < self.precision else "words more"


@dataclass(slots=True)
class WildFiles:
    """What was compared.

    Attributes:
        pages: for each page with a text layer, the comparison with the reader that agrees most.
        not_read: files that no independent reader can read, with the reasons.
        other_counts: files in which an independent reader finds another number of pages, with the numbers.
    """

    pages: list[PageComparison] = field(default_factory=list[PageComparison])
    not_read: dict[str, str] = field(default_factory=dict[str, str])
    other_counts: dict[str, str] = field(default_factory=dict[str, str])


def compare(data_set: DataSet) -> WildFiles:
    """Compare every page of a data set that has the words of a PDF's text layer."""
    found = WildFiles()
    pages = defaultdict[str, list[Page]](list)
    for page in data_set.read_pages():
        pages[page.source].append(page)
    dead = Counter(letter.source for letter in data_set.read_dead_letters() if letter.page is not None)
    for source, own in sorted(pages.items()):
        data = sources.read_bytes(source)
        if sniff(data) is not Kind.PDF:
            continue
        by_reader, failures = _read(data)
        if not by_reader:
            found.not_read[source] = "; ".join(failures)
            continue
        counts = {reader: len(words) for reader, words in by_reader.items()}
        if all(count != len(own) + dead[source] for count in counts.values()):
            found.other_counts[source] = f"{len(own) + dead[source]} pages; {counts}"
        found.pages += _closest(own, by_reader)
    return found


def _read(data: bytes) -> tuple[dict[str, Pages], list[str]]:
    by_reader, failures = dict[str, Pages](), list[str]()
    for reader, read in readers().items():
        try:
            by_reader[reader] = read(data, SECONDS)
        except NoWordsError as error:
            failures.append(str(error))
    return by_reader, failures


def _closest(pages: Sequence[Page], by_reader: dict[str, Pages]) -> Iterator[PageComparison]:
    for page in pages:
        if page.provenance.words == "text_layer":
            made = [compare_page(page, reader, words.get(page.number, [])) for reader, words in by_reader.items()]
            yield max(made, key=lambda one: one.agreement)


def compare_page(page: Page, reader: str, theirs: Sequence[Word]) -> PageComparison:
    """The words of `page` beside those of an independent reader."""
    ours = _of_text_layer(page)
    texts, other_texts = ([plain(word.text) for word in words] for words in (ours, theirs))
    recall, precision = word_recall(texts, other_texts)
    return PageComparison(
        page=page,
        reader=reader,
        theirs=theirs,
        recall=1.0 if np.isnan(recall) else recall,
        precision=1.0 if np.isnan(precision) else precision,
        same_letters=_same_letters("".join(texts), "".join(other_texts)),
        elsewhere=_elsewhere(page, ours, theirs),
    )


def unmatched(words: Sequence[Word], others: Sequence[Word]) -> list[Word]:
    """The words whose texts the others do not have, each as often as it is missing."""
    rest = Counter(plain(word.text) for word in others)
    found: list[Word] = []
    for word in words:
        text = plain(word.text)
        if rest[text]:
            rest[text] -= 1
        else:
            found.append(word)
    return found


def sums(manifest: Manifest, folder: str, out: DataSet, limit: int | None) -> list[str]:
    """What does not add up: files of the folder, documents and dead letters; pages and rows. Empty if all does."""
    files = list(sources.list_files(folder))[:limit]
    letters = out.read_dead_letters()
    rows = [(page.source, page.number) for page in out.read_pages()]
    refused = [letter.source for letter in letters if letter.page is None]
    pages = [*rows, *((letter.source, letter.page) for letter in letters if letter.page is not None)]
    counted = {*(source for source, _ in pages), *refused, *(copy["source"] for copy in manifest.duplicates)}
    problems = [f"{file} is neither a document, nor a dead letter, nor a duplicate" for file in {*files} - counted]
    problems += [
        f"page {number} of {source} is there {n} times" for (source, number), n in Counter(pages).items() if n > 1
    ]
    checks = {
        "documents_in": (manifest.documents_in, len(files)),
        "documents": (
            manifest.documents_in,
            manifest.documents_out + manifest.documents_dead + len(manifest.duplicates),
        ),
        "documents_dead": (manifest.documents_dead, len(refused)),
        "pages": (manifest.pages_in, manifest.pages_out + manifest.pages_dead),
        "pages_out": (manifest.pages_out, len(rows)),
        "pages_dead": (manifest.pages_dead, len(pages) - len(rows)),
    }
    return problems + [
        f"{name}: {stated} in the manifest, {n} counted" for name, (stated, n) in checks.items() if stated != n
    ]


def _of_text_layer(page: Page) -> list[Word]:
    return [word for word in page.words if word.confidence is None]


def _same_letters(one: str, other: str) -> float:
    ours, theirs = (Counter(filter(str.isalnum, text)) for text in (one, other))
    common = (ours & theirs).total()
    return common / max(ours.total(), theirs.total(), 1)


def _elsewhere(page: Page, ours: Sequence[Word], theirs: Sequence[Word]) -> float:
    """The share of our words that the others have, but not in their place.

    A word is in its place if its middle lies in an equal word that is grown by half its lesser side: readers differ in
    the height of a line.
    """
    boxes = defaultdict[str, list[Box]](list)
    for word in theirs:
        boxes[plain(word.text)].append(word.box)
    common = [(word.box, boxes[plain(word.text)]) for word in ours if plain(word.text) in boxes]
    size = np.array([page.width, page.height] * 2)
    away = 0
    for box, others in common:
        x0, y0, x1, y1 = np.array([box.x0, box.y0, box.x1, box.y1]) * size
        places = np.array([[other.x0, other.y0, other.x1, other.y1] for other in others]) * size
        margin = np.minimum(places[:, 2] - places[:, 0], places[:, 3] - places[:, 1])[:, None] / 2
        middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
        away += not ((places[:, :2] - margin <= middle) & (middle <= places[:, 2:] + margin)).all(axis=1).any()
    return away / len(common) if common else 0.0
