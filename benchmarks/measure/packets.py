"""Documents of four kinds with known pages, and packets of them: receipts, forms, agreements and drawn invoices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from layoutray import readers
from layoutray.document import Box, Page, Word
from layoutray.document.packets import Part
from layoutray.ocr import pdf, pdf_text
from layoutray.ocr.settings import Recognition
from layoutray.readers.annotation import ANNOTATED
from layoutray.store import sources
from layoutray.synthetic.layouts import draw, invoice
from layoutray.synthetic.render import render_page
from layoutray.tasks.packets import SplitPacket

_SEED = 9
Kinds = Mapping[str, Sequence[Sequence[Page]]]
"""Documents, as their pages with words, by kind."""


@dataclass(frozen=True, slots=True)
class Packet:
    """Pages in order, numbered from 1, and the documents that they are."""

    pages: Sequence[Page]
    parts: Sequence[Part]

    def is_split_by(self, found: SplitPacket) -> bool:
        """Whether these are exactly the documents that were found, with their kinds."""
        return [Part(one.kind, one.pages[0], one.pages[-1]) for one in found.documents] == [*self.parts]


def read_kinds(data: Path, most: int) -> Kinds:
    """The first `most` documents of each kind: SROIE, FUNSD and Kleister below `data`, and invoices that are drawn."""
    return {
        "agreement": [_agreement(file) for file in sorted((data / "kleister-nda" / "documents").glob("*.pdf"))[:most]],
        "form": _annotated("funsd", data / "funsd", most),
        "invoice": [_invoice(Random(f"{_SEED}/{number}"), f"invoice-{number}") for number in range(most)],
        "receipt": _annotated("sroie", data / "sroie", most),
    }


def packets(kinds: Kinds, seed: int, count: int) -> Iterator[Packet]:
    """`count` packets of 3 to 8 documents: each of a random kind, none twice in a packet."""
    random = Random(seed)
    for _ in range(count):
        chosen: dict[tuple[str, int], None] = {}
        wanted = random.randint(3, 8)
        while len(chosen) < wanted:
            kind = random.choice(sorted(kinds))
            chosen[kind, random.randrange(len(kinds[kind]))] = None
        pages: list[Page] = []
        parts: list[Part] = []
        for kind, number in chosen:
            document = kinds[kind][number]
            parts.append(Part(kind, len(pages) + 1, len(pages) + len(document)))
            pages += [replace(page, number=place) for place, page in enumerate(document, start=len(pages) + 1)]
        yield Packet(pages, parts)


def _annotated(reader: str, root: Path, most: int) -> list[list[Page]]:
    loaded = readers.load(reader)
    references = [*loaded.discover(str(root))][:most]
    return [[*loaded.read(reference).pages] for reference in references]


def _agreement(file: Path) -> list[Page]:
    """The pages of a PDF file that have a text layer."""
    data, settings = file.read_bytes(), Recognition()
    pages: list[Page] = []
    with pdf.opened(data, settings) as document:
        for number in range(1, len(document) + 1):
            with pdf.opened_page(document, number) as page:
                words = tuple(pdf_text.read(page).words)
                width, height = pdf.pixel_size(page, settings)
            if words:
                pages.append(_page(sources.content_id(data), len(pages) + 1, (width, height), words))
    return pages


def _invoice(random: Random, name: str) -> list[Page]:
    """A drawn invoice; half of those with several items are continued on a second page."""
    picture, drawn = render_page(random, lambda one: draw(one, invoice, itemised=True))
    words = [
        Word(
            text=word["text"],
            box=Box(
                *(min(max(side / size, 0.0), 1.0) for side, size in zip(word["box"], 2 * picture.size, strict=True))
            ),
            line=word["line"],
            group=word.get("group"),
        )
        for word in drawn["words"]
    ]
    items = sorted({word.group for word in words if word.group is not None})
    page = _page(name, 1, picture.size, tuple(words))
    if len(items) < 2 or random.random() < 0.5:
        return [page]
    return _continued(page, random.choice(items[1:]), random)


def _continued(page: Page, item: int, random: Random) -> list[Page]:
    """The page cut before an item: the rest is moved to the top of a second page.

    Four in five of the second pages repeat the first line of the first; half of the documents have page numbers.
    """
    cut = min(word.box.y0 for word in page.words if word.group == item) - 0.001
    upper = [word for word in page.words if word.box.y0 < cut]
    lower = [_moved(word, cut - 0.12) for word in page.words if word.box.y0 >= cut]
    heading = [word for word in upper if word.line == upper[0].line]
    repeated = [_moved(word, word.box.y0 - 0.05) for word in heading] if random.random() < 0.8 else []
    numbered = random.random() < 0.5
    return [
        replace(page, number=number, words=(*words, *(_numbers(number) if numbered else [])))
        for number, words in ((1, upper), (2, [*repeated, *lower]))
        if words
    ]


def _moved(word: Word, up: float) -> Word:
    y0, y1 = (min(max(side - up, 0.0), 1.0) for side in (word.box.y0, word.box.y1))
    return replace(word, box=replace(word.box, y0=y0, y1=max(y0, y1)))


def _numbers(number: int) -> list[Word]:
    texts = ("Page", str(number), "of", "2")
    return [
        Word(text=text, box=Box(0.45 + 0.03 * place, 0.96, 0.47 + 0.03 * place, 0.97), line=9999)
        for place, text in enumerate(texts)
    ]


def _page(doc_id: str, number: int, size: tuple[int, int], words: tuple[Word, ...]) -> Page:
    width, height = size
    return Page(
        doc_id=doc_id,
        number=number,
        width=width,
        height=height,
        words=words,
        source=doc_id,
        image="",
        split="",
        provenance=ANNOTATED,
    )
