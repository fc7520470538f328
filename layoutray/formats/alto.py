"""Export to ALTO 4: words with boxes in whole pixels, confidences, lines and blocks.

`layoutray.readers.results.alto` reads it.
"""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement

from layoutray.document import Page, Word
from layoutray.formats.page_markup import Lines, blocks, file_name, pixel_box, to_bytes, xml_text

_NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"
_SCHEMA = "http://www.loc.gov/standards/alto/v4/alto-4-4.xsd"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'

Program = tuple[str, str]
"""Name and version."""


def alto(pages: Sequence[Page]) -> bytes:
    """The pages of one document (at least one) as an ALTO file."""
    root = Element(
        "alto",
        {
            "xmlns": _NAMESPACE,
            "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
            "xsi:schemaLocation": f"{_NAMESPACE} {_SCHEMA}",
            "SCHEMAVERSION": "4.4",
        },
    )
    description = SubElement(root, "Description")
    SubElement(description, "MeasurementUnit").text = "pixel"
    source = SubElement(description, "sourceImageInformation")
    SubElement(source, "fileName").text = file_name(pages[0].image or pages[0].source)
    named = dict.fromkeys(_program(page) for page in pages if page.provenance.engine)
    programs = {program: f"processing_{number}" for number, program in enumerate(named, start=1)}
    for (name, version), key in programs.items():
        processing = SubElement(description, "Processing", ID=key)
        SubElement(processing, "processingCategory").text = "contentGeneration"
        software = SubElement(processing, "processingSoftware")
        SubElement(software, "softwareName").text = xml_text(name)
        if version:
            SubElement(software, "softwareVersion").text = xml_text(version)
    layout = SubElement(root, "Layout")
    for page in pages:
        _add_page(layout, page, programs)
    return to_bytes(root, _HEAD)


def _program(page: Page) -> Program:
    return page.provenance.engine, page.provenance.version


def _add_page(layout: Element, page: Page, programs: Mapping[Program, str]) -> None:
    size = {"HEIGHT": str(page.height), "WIDTH": str(page.width)}
    attributes = {"ID": f"page_{page.number}", "PHYSICAL_IMG_NR": str(page.number), **size}
    if _program(page) in programs:
        attributes["PROCESSINGREFS"] = programs[_program(page)]
    space = SubElement(SubElement(layout, "Page", attributes), "PrintSpace", {**size, "HPOS": "0", "VPOS": "0"})
    for number, block in enumerate(blocks(page), start=1):
        _add_block(space, page, block, f"{page.number}_{number}")


def _add_block(space: Element, page: Page, block: Lines, name: str) -> None:
    words = [word for line in block for word in line]
    holder = SubElement(space, "TextBlock", {"ID": f"block_{name}", **_place(words, page)})
    for number, line in enumerate(block, start=1):
        its_line = SubElement(holder, "TextLine", {"ID": f"line_{name}_{number}", **_place(line, page)})
        for position, word in enumerate(line, start=1):
            attributes = {"ID": f"string_{name}_{number}_{position}", **_place([word], page)}
            if word.confidence is not None:
                attributes["WC"] = f"{word.confidence:.4g}"
            SubElement(its_line, "String", attributes, CONTENT=xml_text(word.text))


def _place(words: Sequence[Word], page: Page) -> dict[str, str]:
    x0, y0, x1, y1 = pixel_box(words, page)
    return {"HEIGHT": str(y1 - y0), "WIDTH": str(x1 - x0), "HPOS": str(x0), "VPOS": str(y0)}
