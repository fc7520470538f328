"""Parser of Tesseract's TSV output."""

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
    # Not `splitlines`, which also splits at separators that can be part of a word.
    for row in tsv.split("\n"):
        columns = row.split("\t", _COLUMNS - 1)
        if len(columns) != _COLUMNS or columns[0] != _WORD_LEVEL or not columns[11].strip():
            continue
        block, paragraph, line = columns[2:5]
        left, top, wide, high = map(int, columns[6:10])
        x0, x1 = (min(max(side / width, 0.0), 1.0) for side in (left, left + wide))
        y0, y1 = (min(max(side / height, 0.0), 1.0) for side in (top, top + high))
        words.append(
            Word(
                text=columns[11].strip(),
                box=Box(x0, y0, x1, y1),
                confidence=min(max(float(columns[10]) / 100, 0.0), 1.0),
                line=lines.setdefault((block, paragraph, line), len(lines)),
                block=blocks.setdefault(block, len(blocks)),
            )
        )
    return tuple(words)
