"""The source picture of a page, to draw on."""

from PIL import Image

from layoutray.document import Page
from layoutray.errors import DocumentError, Reason
from layoutray.ocr.render import count_pages, render_page
from layoutray.ocr.settings import Recognition
from layoutray.store import sources


def page_picture(page: Page) -> Image.Image:
    """The source picture of `page`, resized to the width and height of the page.

    Raises:
        DocumentError: when the page has no picture or the picture cannot be read.
    """
    if not page.image:
        raise DocumentError(Reason.NOT_FOUND, "the data set has no picture of it", stage="open")
    data, settings = sources.read_bytes(page.image), Recognition()
    # Data sets contain single pages of longer documents: such a file has one page, but the page number can be larger.
    number = page.number if count_pages(data, settings) > 1 else 1
    picture = Image.fromarray(render_page(data, number, settings).image)
    size = (page.width, page.height)
    return picture if picture.size == size else picture.resize(size, Image.Resampling.LANCZOS)
