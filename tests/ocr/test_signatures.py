"""Signatures of pictures become words."""

import math
from random import Random

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.measure.signed_pages import SignedScore, scores, signed_page
from layoutray.document import Box, Word
from layoutray.document.page import SIGNED
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition
from layoutray.ocr.signatures import find
from layoutray.synthetic.canvas import Face
from tests.ocr.files import pdf, typed

PRINTED = (Word(text="Signature", box=Box(0.1, 0.5, 0.2, 0.51), confidence=0.9, line=4, block=2),)


def sheet() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("L", (1240, 1754), 255)
    pen = ImageDraw.Draw(picture)
    pen.text((124, 877), "Signature", fill=0, font=Face("DejaVuSans", 22).font())
    pen.line((260, 900, 700, 903), fill=0, width=3)
    return picture, pen


def test_a_curved_line_is_a_signature_and_a_line_of_its_own() -> None:
    picture, pen = sheet()
    assert find(np.asarray(picture), PRINTED) == [], "printed words and rules are none"
    curve = [(300 + 4 * step + 30 * math.cos(step / 3), 880 + 30 * math.sin(step / 2)) for step in range(60)]
    pen.line(curve, fill=40, width=3)
    (found,) = find(np.asarray(picture), PRINTED)
    assert (found.text, found.line, found.block) == (SIGNED, 5, 3)
    assert found.box.iou(Box.from_pixels((272, 849, 560, 911), 1240, 1754)) > 0.8
    assert find(np.asarray(picture), ()) == [], "without words the size of letters is not known"


def test_a_solid_shape_a_frame_and_unread_print_are_no_signatures() -> None:
    picture, pen = sheet()
    pen.ellipse((300, 200, 500, 300), fill=0)
    pen.rectangle((600, 200, 900, 300), outline=0, width=3)
    pen.text((300, 400), "not read by the engine", fill=0, font=Face("DejaVuSans", 22).font())
    assert find(np.asarray(picture), PRINTED) == []


def test_labels_of_generated_scans_are_signed_or_not() -> None:
    total = [SignedScore(0, 0, 0), SignedScore(0, 0, 0)]
    for of_page in scores("test of signatures", 5, signed_page):
        total = [one + other for one, other in zip(total, of_page, strict=True)]
    assert min(one.true for one in total) >= 3
    assert all(one.f1 > 85 for one in total)


def test_a_signature_of_a_pdf_page_is_its_last_word() -> None:
    random = Random(1)
    curve = " ".join(
        f"{200 + 4 * step + random.uniform(-9, 9):.1f} {500 + random.uniform(-6, 20):.1f} l" for step in range(25)
    )
    page = recognise_page(
        pdf(f"{typed('Signature of applicant', x=50, y=500, size=12)} 200 500 m {curve} S"),
        1,
        Recognition(marks="detect"),
    )
    assert [word.text for word in page.words] == ["Signature", "of", "applicant", SIGNED]
    assert page.provenance.reason.endswith("; 0 marks, 1 signatures")
