"""Which words of a page weigh most in what a model that writes keeps of its document."""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from layoutray import tracking
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.generation import TextGenerator
from layoutray.prepare.whole_documents import whole_documents
from layoutray.report import attention_map, png
from layoutray.report.page_picture import page_picture
from layoutray.selection import Selection
from layoutray.store.data_set import DataSet
from pipelines import _terminal as terminal
from pipelines._pages import add_page_options, first_with_words, name_of


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="layoutray picture selection", description=__doc__)
    parser.add_argument("checkpoint", help="of a model that writes: folder, its s3:// address, or models:/NAME@ALIAS")
    add_page_options(parser, "that has words")
    parser.add_argument(
        "--tracking-uri", default=None, help="MLflow server or store (default: MLFLOW_TRACKING_URI, else ./mlflow.db)"
    )
    terminal.add_picture_option(parser, "selection.png")
    options = parser.parse_args(arguments)
    uri = options.tracking_uri or tracking.default_uri()
    folder, _ = tracking.checkpoint_folder(options.checkpoint, uri)
    generator, page = TextGenerator.load(folder), first_with_words(options)
    whole = _whole(options.pages, page)
    (selection,) = generator.selections([whole])
    shares = shares_of(selection, page, whole)
    if not len(shares):
        raise InputError(
            f"the model reads the first {selection.read} words of {name_of(page)}'s document; choose a page before this one"
        )
    title = f"What {generator.model_id} keeps of a document to write about it, {selection.kept} states"
    lines = [title, *caption(page, shares)]
    read = replace(page, words=page.words[: len(shares)])
    picture = png.png(attention_map.draw(page_picture(page), read, [], shares, lines, attention_map.SELECTION))
    if run := tracking.noted(folder, uri):
        run.log_picture(options.out.stem, picture)
    return terminal.show_picture(picture, options.out)


def _whole(folder: str, page: Page) -> list[Page]:
    """All pages of the document of `page`, which the model reads together."""
    for _, pages in whole_documents([DataSet(folder)], [page.doc_id]):
        return pages
    raise InputError(f"{folder} has no document {page.doc_id}, of which page {page.number} is; ingest its files again")


def shares_of(selection: Selection, page: Page, whole: Sequence[Page]) -> Float[np.ndarray, "words"]:
    """For each word of `page` that was read, its weight in the states that it dominates, as a share of all that is kept of the document."""
    shares = np.zeros(selection.read)
    for word in selection.words:
        shares[word.number] = word.weight / selection.kept
    start = sum(len(one.words) for one in whole if one.number < page.number)
    return shares[start : start + len(page.words)]


def caption(page: Page, shares: Float[np.ndarray, "words"]) -> list[str]:
    """What is said of a page above its picture."""
    read = (
        ""
        if len(shares) == len(page.words)
        else f", of which the model reads the first {len(shares)} of {len(page.words)} words"
    )
    return [
        f"{name_of(page)}{read}",
        f"{np.count_nonzero(shares)} of {len(shares)} words weigh most in at least one state; together they are "
        f"{attention_map.percent(float(shares.sum()))} of what is kept",
    ]
