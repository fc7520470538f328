"""Split an annotated piece of a line into words, and words into lines."""

from collections.abc import Iterator, Sequence

from layoutray.document import Box


def split_words(text: str, box: Box) -> Iterator[tuple[str, Box]]:
    """Words of `text` between its blanks; each gets its characters' share of the width of `box`.

    Annotations of whole lines do not say where a word ends; in proportion to characters it is right to about a letter.
    """
    text = text.strip()
    width, start = box.x1 - box.x0, 0
    for word in text.split():
        start = text.index(word, start)
        end = start + len(word)
        left, right = box.x0 + width * start / len(text), box.x0 + width * end / len(text)
        yield word, Box(left, box.y0, min(max(left, right), box.x1), box.y1)
        start = end


def line_starts(boxes: Sequence[Box]) -> Iterator[bool]:
    """For each word in reading order, whether it begins a line: it stands wholly below or above, or left, of the word before it."""
    previous: Box | None = None
    for box in boxes:
        yield previous is None or box.y0 >= previous.y1 or box.y1 <= previous.y0 or box.x1 <= previous.x0
        previous = box
