"""The picture that a page was read from, to draw on."""

from PIL import Image

from layoutray.document import Page
from layoutray.ocr.render import count_pages, render_page
from layoutray.ocr.settings import Recognition
from layoutray.store import sources


def page_picture(page: Page) -> Image.Image:
    """The picture of `page`, as many pixels wide and high as the page says.

    Raises:
        DocumentError: when there is none, or none that can be read.
    """
    data, settings = sources.read_bytes(page.image), Recognition()
    # Data sets cut single pages out of longer documents: their picture has one page, whatever the page's number is.
    number = page.number if count_pages(data, settings) > 1 else 1
    picture = Image.fromarray(render_page(data, number, settings).image)
    size = (page.width, page.height)
    return picture if picture.size == size else picture.resize(size, Image.Resampling.LANCZOS)
