"""`layoutray picture selection`: words that dominate what a text-generating model keeps of a document."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.page_choice import PageChoice, add_page_options, caption_name
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.inference.generation import TextGenerator
from layoutray.inference.selection import Selection
from layoutray.prepare.whole_documents import whole_documents
from layoutray.report import attention_map, png
from layoutray.report.page_picture import page_picture
from layoutray.store.data_set import DataSet
from layoutray.tracking import registered, runs


@dataclass(frozen=True, kw_only=True)
class SelectionOptions(PageChoice):
    """Options of `layoutray picture selection`."""

    checkpoint: str
    tracking_uri: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = options.parser("picture selection")
    options.add_checkpoint(parser)
    add_page_options(parser, "with a picture and words")
    options.add_tracking_uri(parser)
    options.add_picture_file(parser, "selection.png")
    chosen = options.parse(parser, arguments, SelectionOptions)
    folder, _ = registered.checkpoint_folder(chosen.checkpoint, chosen.tracking_uri)
    picture = _draw(TextGenerator.load(folder), chosen)
    if run := runs.noted(folder, chosen.tracking_uri):
        run.log_picture(chosen.out.stem, picture)
    return terminal.show_picture(picture, chosen.out)


def _draw(generator: TextGenerator, chosen: SelectionOptions) -> bytes:
    page = chosen.first_with_words()
    document = _document_pages(chosen.pages, page)
    (selection,) = generator.selections([document])
    shares = shares_of(selection, page, document)
    if not len(shares):
        raise InputError(
            f"the model reads only the first {selection.read} words of the document of {caption_name(page)}; "
            "choose an earlier page"
        )
    title = f"What {generator.model_id} keeps of a document to generate text, {selection.kept} states"
    read = replace(page, words=page.words[: len(shares)])
    lines = [title, *caption(page, shares)]
    return png.png(attention_map.draw(page_picture(page), read, [], shares, lines, attention_map.SELECTION))


def _document_pages(folder: str, page: Page) -> list[Page]:
    """All pages of the document of `page`, which the model reads together."""
    for _, pages in whole_documents([DataSet(folder)], [page.doc_id]):
        return pages
    raise InputError(f"{folder} has page {page.number} of document {page.doc_id}, but not the document; ingest again")


def shares_of(selection: Selection, page: Page, document: Sequence[Page]) -> Float[np.ndarray, "words"]:
    """For each word of `page` that the model read, its weight in the states that it dominates, as a share of all.

    Args:
        document: all pages of the document.
    """
    shares = np.zeros(selection.read)
    for word in selection.words:
        shares[word.number] = word.weight / selection.kept
    start = sum(len(other.words) for other in document if other.number < page.number)
    return shares[start : start + len(page.words)]


def caption(page: Page, shares: Float[np.ndarray, "words"]) -> list[str]:
    """The lines above the picture of a page."""
    truncated = (
        ""
        if len(shares) == len(page.words)
        else f"; the model reads the first {len(shares)} of {len(page.words)} words"
    )
    return [
        f"{caption_name(page)}{truncated}",
        f"{np.count_nonzero(shares)} of {len(shares)} words dominate at least one state; together they make up "
        f"{attention_map.percent(float(shares.sum()))} of what is kept",
    ]
