"""Pictures and PDF files that tests make for themselves."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw, ImageFont


def picture(
    text: str, *, size: tuple[int, int] = (1000, 700), at: tuple[int, int] = (100, 100), height: int = 40
) -> Image.Image:
    """A white grey-scale page with black `text` whose first line's top left is `at`."""
    page = Image.new("L", size, 255)
    ImageDraw.Draw(page).multiline_text(at, text, fill=0, font=ImageFont.load_default(height), spacing=height // 2)
    return page


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """The picture as a file of `kind` (PNG, JPEG, TIFF …)."""
    stream = BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def pdf(
    *pages: str, jpeg: bytes = b"", page_entries: str = "/MediaBox [0 0 600 800]", trailer_entries: str = ""
) -> bytes:
    """A PDF file. Each page is a content stream with the picture /P (`jpeg`), the layer /L, which is off,
    the graphics state /M, which multiplies colours, and fonts.

    They are /F (Helvetica), /G (no Unicode), /H (each letter is told to be another one), /R (A, B, … are told to be
    Hebrew) and /V (Japanese, vertical).
    """
    contents = [3 + 2 * number for number in range(len(pages))]
    first_shared = 3 + 2 * len(pages)
    kids = " ".join(f"{number + 1} 0 R" for number in contents)
    layer = f"{first_shared + 4} 0 R"
    layers = (
        f"/OCProperties << /OCGs [{layer}] /D << /OFF [{layer}] >> >>" if any("/OC" in page for page in pages) else ""
    )
    objects: dict[int, bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {layers} >>".encode(),
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
    }
    fonts = {"F": 0, "G": 1, "H": 5, "R": 7, "V": 9}
    named = " ".join(f"/{name} {first_shared + number} 0 R" for name, number in fonts.items())
    others = f"/XObject << /P {first_shared + 2} 0 R >> /Properties << /L {first_shared + 4} 0 R >> {_MULTIPLY}"
    resources = f"<< /Font << {named} >> {others} >>"
    for number, content in zip(contents, pages, strict=True):
        objects[number] = _stream("", content.encode("latin-1"))
        page = f"<< /Type /Page /Parent 2 0 R {page_entries} /Contents {number} 0 R /Resources {resources} >>"
        objects[number + 1] = page.encode()
    objects[first_shared] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for number, table in ((1, 3), (5, 6), (7, 8)):
        font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode %d 0 R >>"
        objects[first_shared + number] = font % (first_shared + table)
    objects[first_shared + 2] = _jpeg_object(jpeg)
    objects[first_shared + 3] = _stream("", _unicode_map("<00> <FF> <E000>"))
    objects[first_shared + 4] = b"<< /Type /OCG /Name (off) >>"
    objects[first_shared + 6] = _stream("", _unicode_map("<21> <FF> <0024>"))
    objects[first_shared + 8] = _stream("", _unicode_map("<00> <40> <0000>", "<41> <5A> <05D0>"))
    objects[first_shared + 9] = _VERTICAL_FONT
    return _assembled(objects, trailer_entries)


def pdf_with_packed_objects(content: str, page_entries: str) -> bytes:
    """A PDF file of one page whose objects are in a compressed object stream, with the font /F."""
    fonts = "/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    packed = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        f"<< /Type /Page /Parent 2 0 R {page_entries} /Contents 4 0 R {fonts} >>",
    ]
    starts = [sum(len(one) + 1 for one in packed[:number]) for number in range(3)]
    head = " ".join(f"{number + 1} {start}" for number, start in enumerate(starts)) + " "
    compressed = zlib.compress((head + " ".join(packed)).encode())
    data, offsets = b"%PDF-1.7\n", list[int]()
    stream = _stream(f"/Type /ObjStm /N 3 /First {len(head)} /Filter /FlateDecode", compressed)
    for number, body in ((4, _stream("", content.encode())), (5, stream)):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    places = [(0, 0, 0), (2, 5, 0), (2, 5, 1), (2, 5, 2), *((1, offset, 0) for offset in offsets), (1, len(data), 0)]
    table = b"".join(kind.to_bytes(1) + place.to_bytes(4) + index.to_bytes(1) for kind, place, index in places)
    xref = _stream("/Type /XRef /Size 7 /W [1 4 1] /Root 1 0 R", table)
    return data + b"6 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (xref, len(data))


def typed(text: str, *, x: int, y: int, size: int = 24, font: str = "F", mode: int = 0) -> str:
    """Content that sets `text` with its baseline's start at (x, y) points from the bottom left; mode 3 is invisible."""
    return f"BT /{font} {size} Tf {mode} Tr {x} {y} Td ({text}) Tj ET\n"


def placed_picture(*, left: int, bottom: int, width: int, height: int) -> str:
    """Content that paints picture /P."""
    return f"q {width} 0 0 {height} {left} {bottom} cm /P Do Q\n"


_MULTIPLY = "/ExtGState << /M << /BM /Multiply >> >>"
_VERTICAL_FONT = b"""<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /UniJIS-UCS2-V /DescendantFonts
[<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3
/CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> >>] >>"""


def _unicode_map(*ranges: str) -> bytes:
    lines = "\n".join(ranges)
    return f"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
{len(ranges)} beginbfrange {lines} endbfrange
endcmap end end""".encode()


def _jpeg_object(jpeg: bytes) -> bytes:
    if not jpeg:
        return b"null"
    with Image.open(BytesIO(jpeg)) as image:
        width, height = image.size
    entries = "/Type /XObject /Subtype /Image /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode"
    return _stream(f"{entries} /Width {width} /Height {height}", jpeg)


def _stream(entries: str, content: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries.encode(), len(content), content)


def _assembled(objects: dict[int, bytes], trailer_entries: str) -> bytes:
    data, offsets = b"%PDF-1.7\n", [0]
    for number in sorted(objects):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % len(offsets)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets[1:])
    return data + b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(offsets),
        trailer_entries.encode(),
        start,
    )


def pdf_form(
    printed: str,
    filled_in: str,
    *,
    form: str = "/AcroForm << /Fields [6 0 R] /DR << /Font << /F 5 0 R >> >> >>",
    kind: str = "/Subtype /Widget /FT /Tx /T (name)",
    flags: int = 4,
    inherited: str = "",
    appearance: str = "/AP << /N 7 0 R >>",
) -> bytes:
    """A one-page PDF form: `printed` is the page's content, `filled_in` the value of its only field.

    Args:
        form: the catalog's entry; empty: the document has no form.
        kind: what the annotation is.
        flags: of the annotation: 2 hidden, 4 printed, 32 not shown on screen.
        inherited: what the page inherits (`/Resources`, `/MediaBox`, `/CropBox`, `/Rotate`); its own otherwise.
        appearance: of the annotation; empty: a viewer draws it.
    """
    fonts = "/Resources << /Font << /F 5 0 R >> >>"
    own = " ".join(entry for entry in (fonts, "/MediaBox [0 0 600 800]") if entry.split()[0] not in inherited)
    field = f"{kind} /V ({filled_in}) /DA (/F 24 Tf 0 g) /F {flags} /Rect [200 500 500 540] /P 4 0 R {appearance}"
    appearance = f"/Tx BMC BT /F 24 Tf 4 10 Td ({filled_in}) Tj ET EMC".encode()
    return _assembled(
        {
            1: f"<< /Type /Catalog /Pages 2 0 R {form} >>".encode(),
            2: f"<< /Type /Pages /Count 1 /Kids [4 0 R] {inherited} >>".encode(),
            3: _stream("", typed(printed, x=60, y=700).encode()),
            4: f"<< /Type /Page /Parent 2 0 R /Contents 3 0 R /Annots [6 0 R] {own} >>".encode(),
            5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Differences [65 /Eacute] >> >>",
            6: f"<< /Type /Annot {field} >>".encode(),
            7: _stream(f"/Type /XObject /Subtype /Form /BBox [0 0 300 40] {fonts}", appearance),
        },
        "",
    )


@dataclass(frozen=True, kw_only=True)
class Widget:
    """A form field on the page of a `fillable_pdf`.

    Attributes:
        entries: what it is, for example /FT /Tx /T (name) /V (value).
        drawn: the text of its appearance; None: it has none. A button has it in its state /Yes.
        area: left, bottom, right and top.
        flags: of the annotation: 2 hidden, 4 printed, 32 not shown on screen.
    """

    entries: str
    drawn: str | None = None
    area: tuple[int, int, int, int] = (60, 500, 360, 530)
    flags: int = 4


def text_field(name: str, value: str, drawn: str | None = None, more: str = "", **place: Any) -> Widget:
    """A text field, whose appearance shows its value unless `drawn` is another text."""
    return Widget(entries=f"/FT /Tx /T ({name}) /V ({value}) {more}", drawn=value if drawn is None else drawn, **place)


FIRST_PARENT = 6
"""Number of the first of the objects `parents` of a `fillable_pdf`; the others follow it, then the widgets."""


def fillable_pdf(
    *widgets: Widget,
    printed: str = "Form",
    page_entries: str = "/MediaBox [0 0 600 800]",
    form_entries: str = "",
    parents: Sequence[str] = (),
) -> bytes:
    """A PDF form of one page.

    Args:
        printed: the text of the page itself, at (60, 700).
        form_entries: more entries of the form, for example /NeedAppearances true.
        parents: further fields, without a place on the page, which widgets or they name as /Parent.
    """
    numbers = [FIRST_PARENT + len(parents) + 2 * number for number in range(len(widgets))]
    roots = [*range(FIRST_PARENT, FIRST_PARENT + len(parents))]
    roots += [n for n, widget in zip(numbers, widgets, strict=True) if "/Parent" not in widget.entries]
    fonts = "/Resources << /Font << /F 5 0 R >> >>"
    references = " ".join(f"{number} 0 R" for number in numbers)
    form = f"/Fields [{' '.join(f'{root} 0 R' for root in roots)}] /DR << /Font << /F 5 0 R >> >> {form_entries}"
    objects: dict[int, bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R /AcroForm << {form} >> >>".encode(),
        2: b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        3: f"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Annots [{references}] {fonts} {page_entries} >>".encode(),
        4: _stream("", typed(printed, x=60, y=700).encode()),
        5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        **{FIRST_PARENT + number: f"<< {entries} >>".encode() for number, entries in enumerate(parents)},
    }
    for number, widget in zip(numbers, widgets, strict=True):
        left, bottom, right, top = widget.area
        shown = f"{number + 1} 0 R" if "/Btn" not in widget.entries else f"<< /Yes {number + 1} 0 R >>"
        appearance = "" if widget.drawn is None else f"/AP << /N {shown} >>"
        place = f"/Rect [{left} {bottom} {right} {top}] /P 3 0 R /F {widget.flags} /DA (/F 12 Tf 0 g)"
        objects[number] = f"<< /Type /Annot /Subtype /Widget {widget.entries} {place} {appearance} >>".encode("latin-1")
        lines = "".join(
            f"1 0 0 1 2 {top - bottom - 20 - 14 * line} Tm ({text}) Tj "
            for line, text in enumerate((widget.drawn or "").splitlines())
        )
        content = f"/Tx BMC q BT /F 12 Tf {lines} ET Q EMC"
        size = f"/BBox [0 0 {right - left} {top - bottom}]"
        objects[number + 1] = _stream(f"/Type /XObject /Subtype /Form {size} {fonts}", content.encode("latin-1"))
    return _assembled(objects, "")
