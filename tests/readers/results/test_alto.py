import json
import re
from pathlib import Path

import numpy as np
import pytesseract
import pytest

from layoutray.document import Field
from layoutray.errors import Reason
from layoutray.ocr import engines
from layoutray.ocr.tesseract.settings import Preprocessing, TesseractSettings
from layoutray.readers import load
from tests.ocr.files import picture
from tests.readers.native import only, put, put_picture, refusal, texts

READER = load("alto")
SURE = 'WC="0.5"'
STEP = "<processingSoftware><softwareName>{}</softwareName>{}</processingSoftware>"


def alto(body: str, unit: str = "pixel", version: int = 4, description: str = "") -> str:
    return (
        f'<?xml version="1.0"?><alto xmlns="http://www.loc.gov/standards/alto/ns-v{version}#"><Description>'
        f"<MeasurementUnit>{unit}</MeasurementUnit>{description}</Description><Layout>{body}</Layout></alto>"
    )


def page(lines: str, size: str = 'WIDTH="200" HEIGHT="100"', number: int = 1) -> str:
    block = f'<PrintSpace><TextBlock ID="b">{lines}</TextBlock></PrintSpace>'
    return f'<Page ID="p{number}" PHYSICAL_IMG_NR="{number}" {size}>{block}</Page>'


def string(text: str, left: float = 0, top: float = 0, more: str = "") -> str:
    return f'<String CONTENT="{text}" HPOS="{left}" VPOS="{top}" WIDTH="20" HEIGHT="10" {more}/>'


def line(content: str) -> str:
    return f"<TextLine>{content}</TextLine>"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_words_with_lines_blocks_and_confidences_are_read(tmp_path: Path, version: int) -> None:
    body = (
        '<Page ID="p" PHYSICAL_IMG_NR="1" WIDTH="200" HEIGHT="100" ROTATION="90">'
        f'<TopMargin><TextBlock ID="t"><TextLine>{string("Seite", more=SURE)}</TextLine></TextBlock></TopMargin>'
        '<PrintSpace><ComposedBlock ID="c"><TextBlock ID="x" ROTATION="90"><Shape/><TextLine><Shape/>'
        f'{string("&amp;", 10, 20)}<SP WIDTH="2" HPOS="30" VPOS="20"/>{string("a b", 40, 20)}</TextLine>'
        f"<TextLine>{string('')}<String CONTENT='lost'/></TextLine></TextBlock></ComposedBlock></PrintSpace></Page>"
    )
    put(tmp_path / "a.xml", alto(body, version=version))
    truth = only(READER, tmp_path)
    (read,) = truth.pages
    assert [(w.text, w.line, w.block, w.confidence) for w in read.words] == [
        ("Seite", 0, 0, 0.5),
        ("&", 1, 1, None),
        ("a", 1, 1, None),
        ("b", 1, 1, None),
    ]
    assert read.words[1].box.to_pixels(200, 100) == pytest.approx((10, 20, 30, 30))
    assert truth.dropped == 2


def test_words_at_the_end_of_a_line_keep_what_stands_on_the_page(tmp_path: Path) -> None:
    whole = 'SUBS_TYPE="HypPart{}" SUBS_CONTENT="example"'
    lines = (
        f'<TextLine>{string("exam", 0, 0, whole.format(1))}<HYP CONTENT="-" WIDTH="5" HPOS="20" VPOS="4"/></TextLine>'
        f'<TextLine>{string("ple", 0, 20, whole.format(2))}{string("so-")}<HYP CONTENT="-"/></TextLine>'
        f'<TextLine>{string("soft")}<HYP CONTENT="&#173;"/></TextLine><TextLine><HYP CONTENT="-"/></TextLine>'
    )
    put(tmp_path / "a.xml", alto(page(lines)))
    truth = only(READER, tmp_path)
    assert texts(truth) == ["exam-", "ple", "so-", "soft-"]
    assert truth.pages[0].words[0].box.to_pixels(200, 100) == pytest.approx((0, 0, 25, 10))


@pytest.mark.parametrize(
    ("unit", "sides", "alone"),
    [("pixel", (200, 100), (200, 100)), ("mm10", (508, 254), (400, 200)), ("inch1200", (2400, 1200), (400, 200))],
)
def test_units_are_relative_to_the_page(
    tmp_path: Path, unit: str, sides: tuple[int, int], alone: tuple[int, int]
) -> None:
    size = 'WIDTH="{}" HEIGHT="{}"'.format(*sides)
    put(tmp_path / "a.alto", alto(page(line(string("x", sides[0] / 2)), size), unit))
    (read,) = only(READER, tmp_path).pages
    assert ((read.width, read.height), read.words[0].box.x0) == (alone, 0.5)
    put_picture(tmp_path / "a.png", 300, 150)
    put(tmp_path / "a.fields.json", json.dumps({"n": ["1", "2"]}))
    truth = only(READER, tmp_path)
    assert (truth.pages[0].width, truth.pages[0].height, truth.pages[0].words[0].box.x0) == (300, 150, 0.5)
    assert truth.document.fields == (Field("n", "1"), Field("n", "2"))


@pytest.mark.parametrize(
    ("size", "space", "unit", "expected"),
    [
        ('WIDTH="" HEIGHT=""', 'WIDTH="200" HEIGHT="100"', "pixel", (200, 100)),
        ("", 'HPOS="20" VPOS="10" WIDTH="180" HEIGHT="90"', "pixel", (200, 100)),
        ("", 'WIDTH="508" HEIGHT="254"', "MM10", (400, 200)),
        ('WIDTH="2400" HEIGHT="1200"', 'WIDTH="1.6478e" HEIGHT="9"', "inch1200", (400, 200)),
        ('WIDTH="" HEIGHT=""', 'WIDTH="" HEIGHT=""', "pixel", (20, 10)),
    ],
)
def test_the_print_space_stands_in_for_a_page_without_a_size(
    tmp_path: Path, size: str, space: str, unit: str, expected: tuple[int, int]
) -> None:
    whole = page(line(string("x")), size).replace("<PrintSpace>", f"<PrintSpace {space}>")
    put(tmp_path / "a.xml", alto(whole, unit))
    (read,) = only(READER, tmp_path).pages
    assert (read.width, read.height) == expected


def test_a_bad_number_costs_its_word_or_its_page(tmp_path: Path) -> None:
    words = [
        string("good"),
        '<String CONTENT="bad" HPOS="10" VPOS="10" WIDTH="50" HEIGHT="1.6478e"/>',
        string("sure", more='WC="-1"'),
        '<String CONTENT="off" HPOS="25" VPOS="-94923152" WIDTH="61" HEIGHT="-48132729"/>',
    ]
    pages = [
        page(line("".join(words))),
        page(line(string("x")), 'WIDTH="wide" HEIGHT="9"', 2),
        page(line(string("y")), number=3),
    ]
    put(tmp_path / "a.xml", alto("".join(pages)))
    truth = only(READER, tmp_path)
    assert [(one.number, [word.text for word in one.words]) for one in truth.pages] == [(1, ["good"]), (3, ["y"])]
    assert truth.dropped == 3
    assert "`WIDTH` of Page is 'wide', expected a number" in str(truth.failures[2])


def test_characters_and_their_variants_are_no_words(tmp_path: Path) -> None:
    """As kraken writes it: page number 0, words with glyphs and their alternatives, white space between."""
    glyph = '<Glyph CONTENT="a" HPOS="0" VPOS="0" WIDTH="5" HEIGHT="9" GC="0.9"><Variant CONTENT="o" VC="0.2"/></Glyph>'
    word = string("ab").removesuffix("/>") + f'><Shape><Polygon POINTS="0 0 9 9"/></Shape>{glyph}</String><SP/>'
    put(tmp_path / "a.xml", alto(page(line(word + string("c", 50)), number=0) + page(line(string("d")), number=0)))
    pages = only(READER, tmp_path).pages
    assert [(one.number, [word.text for word in one.words]) for one in pages] == [(1, ["ab", "c"]), (2, ["d"])]


def test_the_sign_that_abbyy_writes_for_a_hyphen_is_a_hyphen(tmp_path: Path) -> None:
    put(tmp_path / "a.xml", alto(page(line(string("exam") + '<HYP CONTENT="&#172;"/>') + line(string("ple&#172;")))))
    assert texts(only(READER, tmp_path)) == ["exam-", "ple¬"]


def test_pages_of_one_file_are_one_document(tmp_path: Path) -> None:
    pages = [page(line(string(str(n))), number=n) for n in (2, 5)]
    put(tmp_path / "a.xml", alto("".join(pages)))
    assert [(one.number, one.words[0].text) for one in only(READER, tmp_path).pages] == [(2, "2"), (5, "5")]


VERSION = "<softwareVersion>1.2</softwareVersion>"
OLD = f"""<OCRProcessing ID="a"><preProcessingStep>{STEP.format("clean", VERSION)}</preProcessingStep>
<ocrProcessingStep>{STEP.format("ABBYY FineReader", VERSION)}</ocrProcessingStep></OCRProcessing>"""
NEW = "".join(
    f'<Processing ID="{name}"><processingCategory>{category}</processingCategory>{STEP.format(*program)}</Processing>'
    for name, category, program in (
        ("b", "preOperation", ("clean", "")),
        ("c", "contentGeneration", ("kraken 5.2", "")),
        ("d", "contentGeneration", ("eye", VERSION)),
    )
)


@pytest.mark.parametrize(
    ("description", "reference", "program"),
    [
        ("", "", ("", "")),
        (OLD, "", ("ABBYY FineReader", "1.2")),
        (NEW, "", ("kraken", "5.2")),
        (NEW, 'PROCESSINGREFS="b d"', ("eye", "1.2")),
        (NEW, 'PROCESSING="d"', ("eye", "1.2")),
    ],
)
def test_the_program_is_the_one_that_recognised_the_page(
    tmp_path: Path, description: str, reference: str, program: tuple[str, str]
) -> None:
    put(tmp_path / "a.xml", alto(page("", f'WIDTH="9" HEIGHT="9" {reference}'), description=description))
    provenance = only(READER, tmp_path).pages[0].provenance
    assert (provenance.engine, provenance.version) == program


BOMB = '<!DOCTYPE alto [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>' + alto("&b;")[21:]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "declares the document type 'alto'"),
        ('<!DOCTYPE alto SYSTEM "file:///etc/passwd">' + alto("")[21:], "declares the document type"),
        ("<html/>", "the XML element is 'html', expected alto"),
        ("<alto", "cannot be read as XML"),
        ("", "cannot be read as XML"),
        ('<?xml version="1.0" encoding="nothing"?><alto/>', "cannot be read as XML"),
        (alto("&nbsp;"), "cannot be read as XML"),
        (alto(""), "the result has no page"),
        (alto(page("", ""), "mm10"), "page 1: lacks `WIDTH` or `HEIGHT`"),
        (alto(page(""), "furlong"), "`MeasurementUnit` is 'furlong'; allowed: pixel, mm10, inch1200"),
        (alto(page(line(string("x", more='WC="high"')))), "`WC` of String is 'high'"),
        (alto(page(line(string("x", more='WC="95"')))), "confidence is 95.0 of 1"),
        (alto(page("", 'WIDTH="0" HEIGHT="9"')), "the page is 0.0 x 9.0"),
    ],
)
def test_what_is_no_alto_is_refused(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path / "a.xml", text)
    refused = refusal(READER, tmp_path)
    assert re.search(rf"a\.xml.*{message}", str(refused))
    assert refused.reason == Reason.BAD_ANNOTATION


def test_deep_nesting_ends_no_process(tmp_path: Path) -> None:
    deep = 100_000
    put(tmp_path / "a.xml", alto("<b>" * deep + "</b>" * deep + page(line(string("x")))))
    assert texts(only(READER, tmp_path)) == ["x"]


@pytest.mark.ocr
def test_what_tesseract_writes_is_what_it_reads(tmp_path: Path) -> None:
    shown = picture("Invoice 4711\nTotal 12.50 EUR\n\nThank you & goodbye")
    put(tmp_path / "a.xml", pytesseract.image_to_alto_xml(shown, config="--psm 3"))
    (read,) = only(READER, tmp_path).pages
    direct = engines.load("pytesseract").recognise(
        np.asarray(shown), TesseractSettings(psm=3, preprocessing=Preprocessing(width=0, clahe=0)), 10**8
    )
    assert [(w.text, w.line) for w in read.words] == [(w.text, w.line) for w in direct]
    assert [w.box for w in read.words] == [w.box for w in direct]
    assert [w.confidence for w in read.words] == pytest.approx([w.confidence for w in direct], abs=0.01)
    assert read.provenance.engine == "tesseract"
