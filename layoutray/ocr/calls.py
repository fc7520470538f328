"""Functions of PDFium that are called for each character or object of a page.

They take and return addresses as numbers, in half the time of a call by the prototypes of pypdfium2.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

_ADDRESS, _NUMBER, _CODE = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint


def _call(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.cast(function, ctypes.PYFUNCTYPE(result, *arguments))


code_at = _call(pdfium_c.FPDFText_GetUnicode, _CODE, _ADDRESS, _NUMBER)
lacks_unicode = _call(pdfium_c.FPDFText_HasUnicodeMapError, _NUMBER, _ADDRESS, _NUMBER)
is_inserted = _call(pdfium_c.FPDFText_IsGenerated, _NUMBER, _ADDRESS, _NUMBER)
_text_object_at = _call(pdfium_c.FPDFText_GetTextObject, _ADDRESS, _ADDRESS, _NUMBER)
object_at = _call(pdfium_c.FPDFPage_GetObject, _ADDRESS, _ADDRESS, _NUMBER)
object_in_form = _call(pdfium_c.FPDFFormObj_GetObject, _ADDRESS, _ADDRESS, _NUMBER)
count_in_form = _call(pdfium_c.FPDFFormObj_CountObjects, _NUMBER, _ADDRESS)
kind_of = _call(pdfium_c.FPDFPageObj_GetType, _NUMBER, _ADDRESS)
_clip_of = _call(pdfium_c.FPDFPageObj_GetClipPath, _ADDRESS, _ADDRESS)
_count_clips = _call(pdfium_c.FPDFClipPath_CountPaths, _NUMBER, _ADDRESS)
_is_transparent = _call(pdfium_c.FPDFPageObj_HasTransparency, _NUMBER, _ADDRESS)
render_mode_of = _call(pdfium_c.FPDFTextObj_GetTextRenderMode, _NUMBER, _ADDRESS)
set_active = _call(pdfium_c.FPDFPageObj_SetIsActive, _NUMBER, _ADDRESS, _NUMBER)
font_of = _call(pdfium_c.FPDFTextObj_GetFont, _ADDRESS, _ADDRESS)
is_embedded = _call(pdfium_c.FPDFFont_GetIsEmbedded, _NUMBER, _ADDRESS)
length_of_name = _call(pdfium_c.FPDFFont_GetBaseFontName, ctypes.c_size_t, _ADDRESS, _ADDRESS, ctypes.c_size_t)
_origin = _call(pdfium_c.FPDFText_GetCharOrigin, _NUMBER, _ADDRESS, _NUMBER, *[_ADDRESS] * 2)
_character_box = _call(pdfium_c.FPDFText_GetCharBox, _NUMBER, _ADDRESS, _NUMBER, *[_ADDRESS] * 4)
_matrix = _call(pdfium_c.FPDFPageObj_GetMatrix, _NUMBER, _ADDRESS, _ADDRESS)
_bounds = _call(pdfium_c.FPDFPageObj_GetBounds, _NUMBER, *[_ADDRESS] * 5)
_fill_color = _call(pdfium_c.FPDFPageObj_GetFillColor, _NUMBER, *[_ADDRESS] * 5)
_draw_mode = _call(pdfium_c.FPDFPath_GetDrawMode, _NUMBER, *[_ADDRESS] * 3)
_stroke_width = _call(pdfium_c.FPDFPageObj_GetStrokeWidth, _NUMBER, *[_ADDRESS] * 2)


def address_of(handle: Any) -> int:
    """The address of a document, page or text page of pypdfium2."""
    return ctypes.addressof(handle.raw.contents)


def text(function: Any, *arguments: Any) -> str:
    """The text that a function writes as UTF-16 into a buffer, its last arguments; without the 0 at its end."""
    length = function(*arguments, None, 0)
    found = (ctypes.c_ushort * (length // 2))()
    function(*arguments, found, length)
    return bytes(found).decode("utf-16-le", "replace").rstrip("\0")


def is_plain(item: int) -> bool:
    """Whether an object is neither transparent nor clipped."""
    return not _is_transparent(item) and _count_clips(_clip_of(item)) <= 0


def text_objects(text: pdfium.PdfTextPage, indices: Sequence[int]) -> list[int]:
    """The addresses of the text objects of characters; 0 for one that PDFium has inserted."""
    page = address_of(text)
    return [_text_object_at(page, index) or 0 for index in indices]


def character_boxes(text: int, indices: Sequence[int]) -> NDArray[np.float64]:
    """Left, bottom, right and top of characters, (n, 4) in PDF coordinates; NaN where a character has no place."""
    sides = np.empty((len(indices), 4), dtype=np.float64)
    starts = range(sides.ctypes.data, sides.ctypes.data + sides.nbytes, 32)
    found = [_character_box(text, i, at, at + 16, at + 8, at + 24) for i, at in zip(indices, starts, strict=True)]
    sides[np.array(found, dtype=np.int64) == 0] = np.nan
    return sides


def origin_of(text: pdfium.PdfTextPage, index: int) -> tuple[float, float]:
    """Where a character begins on its base line, in PDF coordinates."""
    x, y = ctypes.c_double(), ctypes.c_double()
    _origin(address_of(text), index, ctypes.addressof(x), ctypes.addressof(y))
    return x.value, y.value


def matrix_of(item: int) -> pdfium.PdfMatrix:
    """The matrix of an object."""
    matrix = pdfium_c.FS_MATRIX()
    _matrix(item, ctypes.addressof(matrix))
    return pdfium.PdfMatrix.from_raw(matrix)


def bounds(objects: Sequence[int]) -> NDArray[np.float32]:
    """Left, bottom, right and top of objects, (n, 4) in the coordinates of what contains them; 0 without bounds."""
    sides = np.zeros((len(objects), 4), dtype=np.float32)
    for item, at in zip(objects, range(sides.ctypes.data, sides.ctypes.data + sides.nbytes, 16), strict=True):
        _bounds(item, at, at + 4, at + 8, at + 12)
    return sides


def fill_colors(objects: Sequence[int]) -> NDArray[np.uint32]:
    """Red, green, blue and opacity, (n, 4) of 255, with which objects are filled; 128 where it is no plain colour."""
    colors = np.full((len(objects), 4), 128, dtype=np.uint32)
    for item, at in zip(objects, range(colors.ctypes.data, colors.ctypes.data + colors.nbytes, 16), strict=True):
        _fill_color(item, at, at + 4, at + 8, at + 12)
    return colors


def outlines(paths: Sequence[int]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Whether paths are filled, (n,), and the widths of their outlines, (n,); 0 without an outline."""
    modes, widths = np.zeros((len(paths), 2), dtype=np.int32), np.zeros(len(paths), dtype=np.float32)
    starts = range(modes.ctypes.data, modes.ctypes.data + modes.nbytes, 8)
    for item, mode, width in zip(
        paths, starts, range(widths.ctypes.data, widths.ctypes.data + widths.nbytes, 4), strict=True
    ):
        _draw_mode(item, mode, mode + 4)
        _stroke_width(item, width)
    return modes[:, 0] != 0, widths * (modes[:, 1] != 0)
