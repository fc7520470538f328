"""Pictures of pages, as wide as they are shown."""

import io
import threading
from functools import lru_cache

from PIL import Image

from layoutray.errors import DocumentError, Reason
from layoutray.ocr.render import page_picture
from layoutray.ocr.settings import Recognition
from layoutray.review.store import ReviewStore
from layoutray.store import sources

WIDTHS = (160, 320, 480, 640, 960, 1280, 1920, 2560)
"""Pixels. A picture has the least of these widths that is wide enough, so that few are drawn."""
_TALLEST = 65_500  # pixels; what libjpeg can write
_KEPT = 64
_QUALITY = 85


class PagePictures:
    """Draws pages as JPEG and keeps the latest ones. Threads take turns, because PDFium allows one at a time."""

    def __init__(self, store: ReviewStore) -> None:
        self._store = store
        self._turn = threading.Lock()
        self._whole = lru_cache(4)(self._draw)
        self._scaled = lru_cache(_KEPT)(self._scale)

    def picture(self, document: int, page: int, width: int) -> bytes:
        """A page as JPEG, at least `width` pixels wide if its own picture is.

        Raises:
            DocumentError: when there is no such page, it has no picture, or the picture cannot be read.
        """
        with self._turn:
            return self._scaled(document, page, next((one for one in WIDTHS if one >= width), WIDTHS[-1]))

    def _scale(self, document: int, page: int, width: int) -> bytes:
        picture = self._whole(document, page)
        scale = min(1.0, width / picture.width, _TALLEST / picture.height)
        if scale < 1:
            size = (max(round(picture.width * scale), 1), max(round(picture.height * scale), 1))
            picture = picture.resize(size, Image.Resampling.BOX)
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=_QUALITY)
        return stream.getvalue()

    def _draw(self, document: int, number: int) -> Image.Image:
        page = self._store.page(document, number)
        if page is None:
            raise DocumentError(Reason.NOT_FOUND, f"document {document} has no page {number}", stage="open")
        content = self._store.content(document)
        if not content and not page.image:
            raise DocumentError(Reason.NOT_FOUND, "the data set has no picture of the page", stage="open")
        return Image.fromarray(page_picture(content or sources.read_bytes(page.image), number, Recognition()).image)
