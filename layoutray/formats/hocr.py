"""Export to hOCR 1.2: words with boxes in whole pixels, confidences, lines and blocks.

Its elements and their nesting are those of Tesseract, which most programs expect.
`layoutray.readers.results.hocr` reads it.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from layoutray.document import Page, Word
from layoutray.formats.page_markup import Lines, blocks, file_name, pixel_box, to_bytes, xml_text

_CAPABILITIES = "ocr_page ocr_carea ocr_par ocr_line ocrx_word ocrp_wconf"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>'


def hocr(pages: Sequence[Page]) -> bytes:
    """The pages of one document (at least one) as an hOCR file."""
    root = Element("html", xmlns="http://www.w3.org/1999/xhtml")
    head = SubElement(root, "head")
    SubElement(head, "title").text = file_name(pages[0].source)
    programs = (f"{page.provenance.engine} {page.provenance.version}".strip() for page in pages)
    engines = dict.fromkeys(filter(None, programs))  # each once, in order
    for name, content in (
        ("ocr-system", xml_text("; ".join(engines) or "unknown")),
        ("ocr-capabilities", _CAPABILITIES),
        ("ocr-number-of-pages", str(len(pages))),
    ):
        SubElement(head, "meta", name=name, content=content)
    body = SubElement(root, "body")
    for page in pages:
        _add_page(body, page)
    return to_bytes(root, _HEAD)


def _add_page(body: Element, page: Page) -> None:
    image = f'image "{file_name(page.image).replace(chr(34), "%22")}"; ' if page.image else ""
    title = f"{image}bbox 0 0 {page.width} {page.height}; ppageno {page.number - 1}"
    element = SubElement(body, "div", {"class": "ocr_page", "id": f"page_{page.number}", "title": title})
    element.text = "\n"  # browsers take an empty element, <div/>, for a start
    for number, block in enumerate(blocks(page), start=1):
        _add_block(element, page, block, f"{page.number}_{number}")


def _add_block(element: Element, page: Page, block: Lines, name: str) -> None:
    box = _bbox([word for line in block for word in line], page)
    area = SubElement(element, "div", {"class": "ocr_carea", "id": f"block_{name}", "title": box})
    paragraph = SubElement(area, "p", {"class": "ocr_par", "id": f"par_{name}", "title": box})
    for number, line in enumerate(block, start=1):
        attributes = {"class": "ocr_line", "id": f"line_{name}_{number}", "title": _bbox(line, page)}
        holder = SubElement(paragraph, "span", attributes)
        for position, word in enumerate(line, start=1):
            confidence = "" if word.confidence is None else f"; x_wconf {round(100 * word.confidence)}"
            its_id, title = f"word_{name}_{number}_{position}", _bbox([word], page) + confidence
            SubElement(holder, "span", {"class": "ocrx_word", "id": its_id, "title": title}).text = xml_text(word.text)


def _bbox(words: Sequence[Word], page: Page) -> str:
    return f"bbox {' '.join(map(str, pixel_box(words, page)))}"
