"""The source picture of a page, to draw on."""

from PIL import Image

from layoutray.document import Page
from layoutray.errors import DocumentError, Reason
from layoutray.ocr import render
from layoutray.ocr.settings import Recognition
from layoutray.store import sources


def page_picture(page: Page) -> Image.Image:
    """The source picture, resized to the size of the page. Raises DocumentError when none can be read."""
    if not page.image:
        raise DocumentError(Reason.NOT_FOUND, "the data set has no picture of it", stage="open")
    picture = Image.fromarray(render.page_picture(sources.read_bytes(page.image), page.number, Recognition()).image)
    size = (page.width, page.height)
    return picture if picture.size == size else picture.resize(size, Image.Resampling.LANCZOS)
