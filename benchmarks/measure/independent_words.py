"""Words and boxes of the text layers of PDF files by pdfminer.six and poppler, which share no code with PDFium."""

import html
import itertools
import re
import shutil
import signal
import subprocess
import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import LAParams, LTAnno, LTChar, LTComponent, LTTextLine
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage

from layoutray.document import Box, Word
from layoutray.errors import DocumentError

_ROTATION = re.compile(r"^Page +(\d+) rot: +(\d+)", re.M)
_UNMAPPED = re.compile(r"\(cid:\d+\)")
_PAGE = re.compile(r'<page width="([\d.]+)" height="([\d.]+)">(.*?)</page>', re.S)
_WORD = re.compile(r'<word xMin="(\S+)" yMin="(\S+)" xMax="(\S+)" yMax="(\S+)">(.*?)</word>', re.S)

Pages = Mapping[int, list[Word]]
"""The words of each page, by its number from 1."""


class NoWordsError(Exception):
    """A reader cannot read a file, or takes too long."""


def readers() -> Mapping[str, Callable[[bytes, float], Pages]]:
    """The independent readers on this machine by name. Each takes a file and the most seconds, and raises NoWordsError.

    Their boxes are relative to the cropped and rotated page.
    """
    installed: dict[str, Callable[[bytes, float], Pages]] = {"pdfminer.six": by_pdfminer}
    if shutil.which("pdftotext"):
        installed["poppler"] = by_poppler
    return installed


def by_pdfminer(data: bytes, seconds: float) -> Pages:
    """The words of every page by pdfminer.six. Call it in the main thread: it is interrupted by a signal."""
    resources = PDFResourceManager()
    device = PDFPageAggregator(resources, laparams=LAParams(boxes_flow=None, all_texts=True))
    interpreter = PDFPageInterpreter(resources, device)
    words: dict[int, list[Word]] = {}
    try:
        with _at_most(seconds):
            for number, page in enumerate(PDFPage.get_pages(BytesIO(data)), 1):
                interpreter.process_page(page)
                words[number] = list(_words_of_layout(device.get_result(), page))
    except Exception as error:  # damaged files make it raise errors of many types
        raise NoWordsError(f"pdfminer.six: {type(error).__name__}: {error}") from error
    return words


def by_poppler(data: bytes, seconds: float) -> Pages:
    """The words of every page by poppler's program `pdftotext`."""
    described = _output_of(["pdfinfo", "-f", "1", "-l", "-1", "-"], data, seconds)
    turned = {int(number): int(degrees) % 180 != 0 for number, degrees in _ROTATION.findall(described)}
    words: dict[int, list[Word]] = {}
    markup = _output_of(["pdftotext", "-bbox", "-cropbox", "-", "-"], data, seconds)
    for number, page in enumerate(_PAGE.finditer(markup), 1):
        size = float(page[1]), float(page[2])  # before the rotation, while the words' sides are those after it
        words[number] = list(_words_of_markup(page[3], *(size[::-1] if turned.get(number) else size)))
    return words


def _output_of(command: list[str], data: bytes, seconds: float) -> str:
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        raise NoWordsError(f"poppler: {error}") from error
    return done.stdout.decode("utf-8", "replace")


def plain(text: str) -> str:
    """The text in the form in which readers are compared: without ligatures, soft hyphens and signs without Unicode."""
    return unicodedata.normalize("NFKC", text).replace("\xad", "").replace("\ufffd", "").casefold()


def _words_of_layout(layout: Any, page: PDFPage) -> Iterator[Word]:
    """The words of a page of pdfminer.six, whose coordinates are those of the rotated page, from its bottom left."""
    for line in _lines(layout):
        for is_space, group in itertools.groupby(line, lambda one: isinstance(one, LTAnno) or one.get_text().isspace()):
            letters = [] if is_space else [one for one in group if isinstance(one, LTChar)]
            if letters:
                text = "".join(_UNMAPPED.sub("\ufffd", one.get_text()) for one in letters)
                x0, y0 = min(one.x0 for one in letters), min(one.y0 for one in letters)
                x1, y1 = max(one.x1 for one in letters), max(one.y1 for one in letters)
                yield from _placed(text, _on_crop((x0, y0, x1, y1), page))


def _lines(component: Any) -> Iterator[Any]:
    if isinstance(component, LTTextLine):
        yield component
    elif isinstance(component, Iterable) and isinstance(component, LTComponent):
        for part in component:
            yield from _lines(part)


def _on_crop(sides: tuple[float, ...], page: PDFPage) -> tuple[float, float, float, float]:
    """Sides on the rotated media box, relative to the rotated crop box, from its top left."""
    (mx0, my0, mx1, my1), (cx0, cy0, cx1, cy1) = page.mediabox, page.cropbox
    width, height = mx1 - mx0, my1 - my0
    left, bottom = max(cx0 - mx0, 0.0), max(cy0 - my0, 0.0)
    right, top = min(cx1 - mx0, width), min(cy1 - my0, height)
    for _ in range(page.rotate // 90 % 4):  # clockwise
        left, bottom, right, top = bottom, width - right, top, width - left
        width, height = height, width
    x0, y0, x1, y1 = sides
    across, up = max(right - left, 1e-6), max(top - bottom, 1e-6)
    return (x0 - left) / across, (top - y1) / up, (x1 - left) / across, (top - y0) / up


def _words_of_markup(markup: str, width: float, height: float) -> Iterator[Word]:
    for *sides, text in _WORD.findall(markup):
        x0, y0, x1, y1 = map(float, sides)
        yield from _placed(html.unescape(text), (x0 / width, y0 / height, x1 / width, y1 / height))


def _placed(text: str, sides: tuple[float, float, float, float]) -> Iterator[Word]:
    """The word, if it lies on the page."""
    x0, y0, x1, y1 = sides
    if x1 <= 0 or y1 <= 0 or x0 >= 1 or y0 >= 1:
        return
    try:
        yield Word(text=text, box=Box.repaired(sides, 1, 1)[0])
    except DocumentError:
        return


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    # Python drops what a handler raises within a destructor or a callback of the garbage collector, hence the interval.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
