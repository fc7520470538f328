"""Split annotated text lines into words, and find line starts in a sequence of words."""

from collections.abc import Iterator, Sequence

from layoutray.document import Box


def split_words(text: str, box: Box) -> Iterator[tuple[str, Box]]:
    """The words of `text` with their boxes: the width of `box` is divided in proportion to the characters.

    Annotations of whole lines have no word boundaries; the estimate is accurate to about one character.
    """
    text = text.strip()
    width, start = box.x1 - box.x0, 0
    for word in text.split():
        start = text.index(word, start)
        end = start + len(word)
        left = box.x0 + width * start / len(text)
        right = box.x1 if end == len(text) else min(max(left, box.x0 + width * end / len(text)), box.x1)
        yield word, Box(left, box.y0, right, box.y1)
        start = end


def line_starts(boxes: Sequence[Box]) -> Iterator[bool]:
    """For each word in reading order, whether it starts a line: it is entirely below, above or left of the previous."""
    previous: Box | None = None
    for box in boxes:
        yield previous is None or box.y0 >= previous.y1 or box.y1 <= previous.y0 or box.x1 <= previous.x0
        previous = box
