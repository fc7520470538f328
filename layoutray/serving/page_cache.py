"""Words of pages that were read a short time ago, in memory."""

import asyncio

from pydantic import TypeAdapter

from layoutray.document import Page

MOST_BYTES = 64 * 2**20
_PAGE = TypeAdapter(Page)


class PageCache:
    """Read pages by the content of their file. It belongs to one event loop.

    Args:
        seconds: each page is removed so long after it was read; 0 keeps none.
        most_bytes: of all pages, as JSON. Beyond them the pages that were read first are removed.
    """

    def __init__(self, seconds: float, most_bytes: int = MOST_BYTES) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._bytes = 0
        self._pages: dict[tuple[str, int], tuple[bytes, asyncio.TimerHandle]] = {}

    def get(self, doc_id: str, number: int) -> Page | None:
        """Page `number` of the file with hash `doc_id`; None if it is not kept."""
        kept = self._pages.get((doc_id, number))
        return _PAGE.validate_json(kept[0]) if kept else None

    def put(self, page: Page) -> None:
        key = page.doc_id, page.number
        if not self._seconds or key in self._pages:
            return
        text = _PAGE.dump_json(page)
        self._pages[key] = text, asyncio.get_running_loop().call_later(self._seconds, self._remove, key)
        self._bytes += len(text)
        while self._bytes > self._most_bytes:
            self._remove(next(iter(self._pages)))

    def _remove(self, key: tuple[str, int]) -> None:
        text, timer = self._pages.pop(key)
        timer.cancel()
        self._bytes -= len(text)
