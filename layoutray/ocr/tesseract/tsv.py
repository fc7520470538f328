"""Parser of Tesseract's TSV output."""

from collections.abc import Iterator

from layoutray.document import Box, Word

_WORD_LEVEL = "5"
_COLUMNS = 12  # level page_num block_num par_num line_num word_num left top width height conf text


def parse_words(tsv: str, width: int, height: int) -> tuple[Word, ...]:
    """Words of a picture of `width` x `height` pixels.

    Boxes are clipped to the picture. Lines and blocks are numbered from 0 in reading order.
    """
    lines: dict[tuple[str, str, str], int] = {}
    blocks: dict[str, int] = {}
    words: list[Word] = []
    for block, paragraph, line, left, top, wide, high, confidence, text in _rows(tsv):
        words.append(
            Word(
                text,
                _clipped(int(left), int(top), int(wide), int(high), width, height),
                confidence=min(max(float(confidence) / 100, 0.0), 1.0),
                line=lines.setdefault((block, paragraph, line), len(lines)),
                block=blocks.setdefault(block, len(blocks)),
            )
        )
    return tuple(words)


def _rows(tsv: str) -> Iterator[tuple[str, ...]]:
    # Not `splitlines`, which also splits at separators that can be part of a word.
    for row in tsv.split("\n"):
        columns = row.split("\t", _COLUMNS - 1)
        if len(columns) == _COLUMNS and columns[0] == _WORD_LEVEL and (text := columns[11].strip()):
            yield *columns[2:5], *columns[6:11], text


def _clipped(left: int, top: int, wide: int, high: int, width: int, height: int) -> Box:
    x0, x1 = (min(max(side / width, 0.0), 1.0) for side in (left, left + wide))
    y0, y1 = (min(max(side / height, 0.0), 1.0) for side in (top, top + high))
    return Box(x0, y0, x1, y1)
