"""One HTML page of pages whose words are far from those of an independent reader, with a picture of each."""

import base64
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from io import BytesIO

from PIL import Image, ImageDraw

from benchmarks.measure.wild_pages import PageComparison, unmatched
from layoutray.document import Word
from layoutray.errors import DocumentError
from layoutray.report.canvas import grown
from layoutray.report.page_picture import page_picture
from layoutray.report.palette import COLOURS, Colour, as_hex

_BOTH, _OURS, _THEIRS = COLOURS[2], COLOURS[1], COLOURS[0]
_LONGEST_SIDE = 1000
_QUALITY = 60
_WORDS_SHOWN = 40
_STYLE = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; color: #24292f; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto }}
th, td {{ padding: .3rem .8rem; border-bottom: 1px solid #e3e6ea; text-align: left; vertical-align: top }}
section {{ margin: 2rem 0; overflow-wrap: anywhere }}
img {{ max-width: 100%; border: 1px solid #e3e6ea }}
.ours {{ color: {as_hex(_OURS)} }} .theirs {{ color: {as_hex(_THEIRS)} }} .both {{ color: {as_hex(_BOTH)} }}
"""


def wild_report(title: str, counts: Sequence[tuple[str, object]], pages: Iterable[PageComparison]) -> Iterator[str]:
    """The parts of the HTML page: counts, then each of `pages`, of which one picture is in memory at a time."""
    yield f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    yield f"<h1>{escape(title)}</h1>"
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(count))}</td></tr>" for name, count in counts)
    yield f"<table>{rows}</table>"
    yield (
        '<p>Boxes and words: <b class="both">both readers</b>, <b class="ours">only layoutray</b>, '
        '<b class="theirs">only the other reader</b>.</p>'
    )
    for number, page in enumerate(pages, 1):
        yield _section(number, page)


def _section(number: int, compared: PageComparison) -> str:
    page = compared.page
    ours, theirs = unmatched(compared.ours, compared.theirs), unmatched(compared.theirs, compared.ours)
    scores = (
        f"{compared.kind}; recall {compared.recall:.3f}, precision {compared.precision:.3f}, same letters "
        f"{compared.same_letters:.3f}, boxes elsewhere {compared.elsewhere:.3f} against {compared.reader}"
    )
    try:
        shown = f'<img loading="lazy" alt="page {page.number}" src="{_embedded(_drawn(compared, ours, theirs))}">'
    except DocumentError as error:
        shown = f"<p>No picture: {escape(str(error))}</p>"
    return f"""<section><h2>{number}. {escape(page.source)}, page {page.number}</h2>
<p>{escape(scores)}.<br>{escape(page.provenance.reason)}</p>
<p class="ours">{_texts(ours)}</p><p class="theirs">{_texts(theirs)}</p>{shown}</section>"""


def _texts(words: Sequence[Word]) -> str:
    more = f" … {len(words)} words" if len(words) > _WORDS_SHOWN else ""
    return escape(" · ".join(word.text for word in words[:_WORDS_SHOWN]) + more)


def _drawn(compared: PageComparison, ours: Sequence[Word], theirs: Sequence[Word]) -> Image.Image:
    picture = page_picture(compared.page).convert("RGB")
    picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
    alone = set(map(id, ours))
    pen = ImageDraw.Draw(picture)
    both = [word for word in compared.ours if id(word) not in alone]
    groups: list[tuple[Sequence[Word], Colour]] = [(both, _BOTH), (theirs, _THEIRS), (ours, _OURS)]
    for words, colour in groups:
        for word in words:
            pen.rectangle(grown(word.box.to_pixels(*picture.size), 1), outline=colour, width=1)
    return picture


def _embedded(picture: Image.Image) -> str:
    stream = BytesIO()
    picture.save(stream, "JPEG", quality=_QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(stream.getvalue()).decode()}"
