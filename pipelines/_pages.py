"""Which page of a folder of PAGES a picture shows."""

import argparse
from collections.abc import Iterator

import pyarrow.compute as pc

from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.store.data_set import DataSet


def add_page_options(parser: argparse.ArgumentParser, wanted: str) -> None:
    """The folder, and `--page` or `--source`; `wanted` says in the help what the default page must have."""
    parser.add_argument("pages", help="folder that `layoutray ingest` has written")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--page", metavar="PAGE_ID", help=f"which page (default: the first by doc_id and number {wanted} and a picture)"
    )
    which.add_argument("--source", metavar="TEXT", help="take it from the pages whose source has this in its name")


def pages_asked_for(options: argparse.Namespace) -> Iterator[Page]:
    """Those with a picture, in no order."""
    asked = pc.field("image") != ""
    if options.page:
        asked &= pc.field("page_id") == options.page
    for page in DataSet(options.pages).read_pages(asked):
        if not options.source or options.source in page.source.rpartition("/")[2]:
            yield page


def place(page: Page) -> tuple[str, int]:
    """By which pages are ordered: a document's first page is the one that its model is sure to have read."""
    return page.doc_id, page.number


def first_with_words(options: argparse.Namespace) -> Page:
    """The first of the pages that are asked for, that have a picture and words. Raises InputError when there is none."""
    first = min((page for page in pages_asked_for(options) if page.words), key=place, default=None)
    if first is None:
        raise InputError(
            f"no page of {options.pages} that is asked for has words and a picture; see the columns page_id and source there"
        )
    return first


def name_of(page: Page) -> str:
    """A page as captions name it."""
    return f"{page.source.rpartition('/')[2]}, page {page.number}"
