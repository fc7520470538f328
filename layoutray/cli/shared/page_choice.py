"""The page of a set that a picture shows."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from layoutray.document import Page
from layoutray.store.data_set import DataSet


@dataclass(frozen=True, kw_only=True)
class PageChoice:
    """Options that choose a page, and the picture file.

    Attributes:
        pages: folder written by `layoutray ingest`.
        page: a page id; None chooses by `source`.
        source: text in the file name of the page's source; None takes any.
        out: the picture to write.
    """

    pages: str
    page: str | None
    source: str | None
    out: Path

    def rows(self) -> pc.Expression:
        """The filter for PAGES rows with a picture; with a page id, for this page only."""
        rows = pc.field("image") != ""
        return rows & (pc.field("page_id") == self.page) if self.page else rows

    def allows(self, source: str) -> bool:
        """Whether the options allow pages of the file `source`."""
        return not self.source or self.source in source.rpartition("/")[2]

    def candidates(self) -> Iterator[Page]:
        """The pages that the options allow and that have a picture, in no order."""
        return (page for page in DataSet(self.pages).read_pages(self.rows()) if self.allows(page.source))


def add_page_options(parser: argparse.ArgumentParser, requirement: str) -> None:
    """The fields of `PageChoice` but `out`.

    Args:
        requirement: what the default page must have, for the help.
    """
    parser.add_argument("pages", help="folder written by `layoutray ingest`")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--page", metavar="PAGE_ID", help=f"page to draw (default: the first by doc_id and number {requirement})"
    )
    choice.add_argument("--source", metavar="TEXT", help="draw the first page whose file name contains TEXT")


def caption_name(page: Page) -> str:
    """How captions name a page."""
    return f"{page.source.rpartition('/')[2]}, page {page.number}"
