"""A TrueType font without ink, for the text of searchable PDFs: one glyph for all characters, and one for the space.

PDF programs select and find text by the metrics of its font. At font size 1, a character is exactly 1 wide and high.
"""

import functools
import io

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

CHARACTER, SPACE = 1, 2
"""Numbers of the glyphs. The space has no width: it separates words without lying on the next one."""
_EM = 1000
_GLYPHS = {".notdef": _EM, "character": _EM, "space": 0}
_TOP = 985  # PDFium adds a 64th to the top of a glyph's box
_DESCENT = -2  # Poppler takes 0 for a missing value, and PDFium rounds up


@functools.cache
def invisible_font() -> bytes:
    """The font as a file."""
    builder = FontBuilder(_EM, isTTF=True)
    builder.setupGlyphOrder(list(_GLYPHS))
    builder.setupCharacterMap({ord(" "): "space"})
    empty, diagonal = TTGlyphPen(None).glyph(), TTGlyphPen(None)
    # A closed path of two points has a box but no area, so even a program that would paint it paints nothing.
    diagonal.moveTo((0, 0))
    diagonal.lineTo((_EM, _TOP))
    diagonal.closePath()
    builder.setupGlyf({name: diagonal.glyph() if name == "character" else empty for name in _GLYPHS})
    builder.setupHorizontalMetrics({name: (width, 0) for name, width in _GLYPHS.items()})
    builder.setupHorizontalHeader(ascent=_EM, descent=_DESCENT)
    builder.setupNameTable({"familyName": "Invisible", "styleName": "Regular", "psName": "Invisible"})
    builder.setupOS2(sTypoAscender=_EM, sTypoDescender=_DESCENT, usWinAscent=_EM, usWinDescent=-_DESCENT)
    builder.setupPost()
    stream = io.BytesIO()
    builder.save(stream)
    return stream.getvalue()
