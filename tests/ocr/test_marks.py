"""Check boxes and radio buttons of pictures become words, with their states."""

import time
from random import Random

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.measure.mark_drawings import marked_form
from layoutray.document import Box, Word
from layoutray.document.page import OFF, ON
from layoutray.ocr import marks
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.synthetic.canvas import Face
from layoutray.synthetic.render import bill, render_page
from tests.ocr.files import pdf, typed


def sheet(width: int = 1240, height: int = 1754) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    page = Image.new("L", (width, height), 255)
    return page, ImageDraw.Draw(page)


def found(page: Image.Image) -> list[Word]:
    return marks.find(np.asarray(page))


def test_boxes_of_generated_scans_are_found_with_their_states() -> None:
    right = true = seen = 0
    for number in range(4):
        page, annotation = render_page(Random(f"test of marks/{number}"), marked_form)
        words = found(page)
        boxes = [Box.from_pixels(one["box"], *page.size) for one in annotation["words"] if one["text"] in (ON, OFF)]
        states = [one["text"] for one in annotation["words"] if one["text"] in (ON, OFF)]
        true, seen = true + len(boxes), seen + len(words)
        right += sum(
            any(word.text == state and word.box.iou(box) > 0.5 for word in words)
            for box, state in zip(boxes, states, strict=True)
        )
    assert true > 30
    assert 2 * right / (true + seen) > 0.9


def test_circles_frames_and_crosses() -> None:
    page, pen = sheet()
    for row, text in enumerate(("yes", "no", "maybe")):
        y = 300 + 80 * row
        pen.rectangle((200, y, 228, y + 28), outline=0, width=2)
        pen.ellipse((500, y, 528, y + 28), outline=0, width=2)
        for x in (250, 550):
            pen.text((x, y), text, fill=0, font=Face("DejaVuSans", 26).font())
    pen.line((203, 383, 225, 405), fill=0, width=4)
    pen.line((225, 383, 203, 405), fill=0, width=4)
    pen.ellipse((507, 467, 521, 481), fill=0)
    in_rows = sorted(found(page), key=lambda word: (round(word.box.y0 * 100), word.box.x0))
    assert [word.text for word in in_rows] == [OFF, OFF, ON, OFF, OFF, ON]


def test_a_blank_page_letters_and_cells_of_a_table_are_no_marks() -> None:
    assert not found(sheet()[0])
    page, pen = sheet()
    for row in range(12):
        for column in range(10):
            x, y = 100 + 60 * column, 100 + 60 * row
            pen.rectangle((x, y, x + 60, y + 60), outline=0, width=2)
        pen.text((100, 900 + 40 * row), "ODD DO Q0 BOO DOOR 80 OD", fill=0, font=Face("DejaVuSans", 28).font())
    assert not found(page)
    bills = [render_page(Random(f"test of marks/{number}"), bill)[0] for number in range(3)]
    assert not any(map(found, bills))


def test_two_thousand_boxes_take_little_time() -> None:
    page, pen = sheet(2480, 3508)
    for row in range(50):
        for column in range(40):
            x, y = 100 + 57 * column, 100 + 66 * row
            pen.rectangle((x, y, x + 30, y + 30), outline=0, width=3)
    started = time.process_time()
    words = found(page)
    placed = marks.among(words, words)
    assert time.process_time() - started < 5
    assert len(placed) == len(words) > 1900


def word(text: str, x0: float, x1: float, line: int = 0) -> Word:
    return Word(text=text, box=Box(x0, 0.1 * line, x1, 0.1 * line + 0.05), line=line, block=line)


def test_a_mark_takes_the_place_of_what_was_read_there() -> None:
    read = (word("Smoker:", 0.1, 0.24), word("DYes", 0.3, 0.34), word("O", 0.4, 0.41), word("No", 0.42, 0.44))
    placed = marks.among(read, [word(OFF, 0.40, 0.412), word(ON, 0.298, 0.31)])
    assert [one.text for one in placed] == ["Smoker:", ON, "Yes", OFF, "No"]
    assert placed[2].box.x0 == 0.31
    assert {one.line for one in placed} == {0}


def test_a_frame_around_a_word_and_a_letter_inside_a_word_are_no_marks() -> None:
    read = (word("A", 0.1, 0.12), word("GEOGRAPHY", 0.3, 0.4), word("DYes", 0.5, 0.54), word("19.20", 0.6, 0.65))
    boxes = {"frame": (0.29, 0.41), "letter": (0.09, 0.13), "first": (0.498, 0.51), "inside": (0.611, 0.619)}
    numbers = marks.apart_from(read, [word(ON, *sides) for sides in boxes.values()])
    assert [[*boxes][number] for number in numbers] == ["letter", "first"]


def test_a_page_whose_sure_marks_are_letters_of_words_has_none() -> None:
    page, pen = sheet()
    pen.rectangle((300, 400, 330, 430), outline=0, width=3)
    (mark,) = found(page)
    around = Box(mark.box.x0 - 0.05, mark.box.y0, mark.box.x1 + 0.05, mark.box.y1)
    assert marks.find(np.asarray(page), [Word(text="about", box=around)]) == []


def test_a_mark_beside_no_word_is_a_line_of_its_own() -> None:
    placed = marks.among((word("one", 0.1, 0.2), word("two", 0.1, 0.2, line=1)), [word(ON, 0.5, 0.52, line=5)])
    assert [(one.text, one.line, one.block) for one in placed] == [("one", 0, 0), ("two", 1, 1), (ON, 2, 2)]


def boxes_in_a_pdf() -> bytes:
    crossed = "100 500 14 14 re S 2 w 102 502 m 112 512 l S 102 512 m 112 502 l S 1 w"
    return pdf(
        f"100 600 14 14 re S {typed('Smoker of many cigars', x=124, y=600, size=14)} {crossed} "
        f"{typed('Married and with children', x=124, y=500, size=14)}"
    )


def test_marks_of_a_page_with_a_text_layer_are_words_if_they_are_asked_for() -> None:
    page = recognise_page(boxes_in_a_pdf(), 1, Recognition(marks="detect"))
    assert " ".join(one.text for one in page.words) == f"{OFF} Smoker of many cigars {ON} Married and with children"
    assert page.provenance.words == "text_layer"
    assert page.provenance.reason.endswith("; 2 marks, 0 signatures")
    without = recognise_page(boxes_in_a_pdf(), 1, Recognition())
    assert [one.text for one in without.words] == [one.text for one in page.words if one.text not in (ON, OFF)]
    assert all(isinstance(one.confidence, float) for one in page.words if one.text in (ON, OFF))
