"""Pages that hypothesis makes up, and what must be left of their words when a written file is read back."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import strategies as st

from layoutray.document import Box, Page, Provenance, Word

LEFT_TO_RIGHT = st.one_of(
    st.text("abcXYZ0129.,:;-/&<>()\"'%€ÄßéŁ", min_size=1, max_size=12),
    st.text("ΑβγЖдйк", min_size=1, max_size=8),
    st.text("日本語会社東京", min_size=1, max_size=6),
)
RIGHT_TO_LEFT = st.one_of(
    st.text("שלוםאבגד", min_size=1, max_size=8),
    st.text("مرحباسلط", min_size=1, max_size=8),
    st.from_regex(r"\([שלוםאבגד]{1,6}\)|[שלוםאבגד]{1,6}[.,:]", fullmatch=True),
    st.sampled_from(["12.50", "2024", "-7", "50%"]),
)
SIZES = st.tuples(st.integers(800, 3000), st.integers(800, 4000))


@st.composite
def pages(draw: st.DrawFn, number: int = 1) -> Page:
    """A page with up to six lines of up to five words, side by side, in blocks of two lines.

    A line runs in one direction: programs disagree about the order of punctuation where directions meet. Words are
    higher than 5 points: PDFium does not tell lines of smaller words apart.
    """
    width, height = draw(SIZES)
    words: list[Word] = []
    for line in range(draw(st.integers(0, 6))):
        top = draw(st.floats(line / 6, line / 6 + 0.05))
        high = draw(st.floats(0.02, 0.1))
        texts = draw(st.sampled_from([LEFT_TO_RIGHT, RIGHT_TO_LEFT]))
        for column in range(draw(st.integers(1, 5))):
            left, wide = draw(st.floats(column / 5, column / 5 + 0.05)), draw(st.floats(0.01, 0.15))
            box = Box(left, top, min(left + wide, 1.0), min(top + high, 1.0))
            confidence = draw(st.none() | st.floats(0, 1))
            words.append(Word(text=draw(texts), box=box, confidence=confidence, line=line, block=line // 2))
    provenance = Provenance(
        words="ocr", reason="a picture has no text layer", engine="tesserocr", version="5.5.4 eng:9c3f", settings="{}"
    )
    return Page(
        doc_id="d" * 64,
        number=number,
        width=width,
        height=height,
        words=tuple(words),
        source="d.png",
        image="",
        split="",
        provenance=provenance,
    )


def largest_deviation(words: Sequence[Word], others: Sequence[Word], page: Page) -> float:
    """The largest distance, in pixels of `page`, between sides of equal words in the order of their places."""
    assert Counter(word.text for word in words) == Counter(word.text for word in others)
    deviations = [
        abs(side - its_side)
        for word, other in zip(_by_place(words), _by_place(others), strict=True)
        for side, its_side in zip(_pixels(word, page), _pixels(other, page), strict=True)
    ]
    return max(deviations, default=0.0)


def _pixels(word: Word, page: Page) -> tuple[float, ...]:
    return word.box.to_pixels(page.width, page.height)


def _by_place(words: Sequence[Word]) -> list[Word]:
    return sorted(words, key=lambda word: (word.text, word.box.y0 + word.box.y1, word.box.x0 + word.box.x1))
