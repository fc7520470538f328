from layoutray.document import Box
from layoutray.formats.page_markup import blocks, file_name, pixel_box, xml_text
from tests.store.pages import page, word


def test_blocks_and_lines_keep_the_order_of_the_words() -> None:
    places = [(0, 0), (0, 0), (1, 0), (1, 1), (2, 0), (2, 0)]
    made = page("d", 1, *(word(str(n), line=line, block=block) for n, (line, block) in enumerate(places)))
    texts = [[[one.text for one in line] for line in block] for block in blocks(made)]
    assert texts == [[["0", "1"], ["2"]], [["3"]], [["4", "5"]]]


def test_a_box_has_whole_pixels() -> None:
    words = [word("a", box=Box(0.104, 0.1, 0.2, 0.2)), word("b", box=Box(0.3, 0.05, 0.996, 0.1))]
    assert pixel_box(words, page()) == (10, 10, 100, 40)


def test_characters_that_xml_forbids_are_replaced() -> None:
    assert xml_text("a\x00\x1b\ufffe\U0001f600\n") == "a\ufffd\ufffd\ufffd\U0001f600\n"
    assert file_name("s3://bucket/a/b\x01.png") == "b\ufffd.png"
