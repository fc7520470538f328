from layoutray.document import Box
from layoutray.ocr.tesseract.engine import parse_words

HEADER = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"


def row(
    level: int, block: int, paragraph: int, line: int, sides: tuple[int, int, int, int], confidence: float, text: str
) -> str:
    return "\t".join(map(str, (level, 1, block, paragraph, line, 1, *sides, confidence, text))) + "\n"


def test_words_get_shares_confidences_and_ids_from_zero() -> None:
    tsv = (
        HEADER
        + row(1, 0, 0, 0, (0, 0, 200, 100), -1, "")
        + row(5, 2, 1, 1, (20, 10, 40, 20), 96.5, "Total")
        + row(5, 2, 1, 2, (20, 40, 40, 20), 50, "9.00")
        + row(5, 2, 2, 1, (20, 60, 40, 20), 50, "RM")
        + row(5, 4, 1, 1, (100, 80, 20, 10), 0, "x")
    )
    words = parse_words(tsv, 200, 100)
    assert [word.text for word in words] == ["Total", "9.00", "RM", "x"]
    assert words[0].box == Box(0.1, 0.1, 0.3, 0.3)
    assert words[0].confidence == 0.965
    assert [word.line for word in words] == [0, 1, 2, 3]
    assert [word.block for word in words] == [0, 0, 0, 1]


def test_empty_words_are_dropped_and_boxes_cut_to_the_picture() -> None:
    tsv = row(5, 1, 1, 1, (0, 0, 10, 10), 95, "  ") + row(5, 1, 1, 1, (-5, 90, 500, 50), 120, "wide")
    (word,) = parse_words(tsv, 200, 100)
    assert (word.text, word.box, word.confidence, word.line) == ("wide", Box(0.0, 0.9, 1.0, 1.0), 1.0, 0)


def test_odd_separators_stay_inside_their_word() -> None:
    (word,) = parse_words(row(5, 1, 1, 1, (0, 0, 10, 10), 95, "a\x85b"), 100, 100)
    assert word.text == "a\x85b"


def test_a_blank_page_has_no_words() -> None:
    assert parse_words("", 100, 100) == ()
