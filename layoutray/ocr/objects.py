"""The objects of a PDF page in the order in which they are painted, also those in forms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from layoutray.ocr import calls

_DEEPEST = 15
"""Forms in forms that are followed; a form can contain itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageObjects:
    """Objects of a page, without the forms themselves.

    Attributes:
        items: addresses of the objects, in the order in which they are painted.
        kinds: PDFium's number for the kind of each object, (n,).
        forms: the form that each object is in, a row of `matrices`, (n,); 0 for the page.
        matrices: from the coordinates of each form to those of the page, (forms, 6).
        plain: whether each form is neither transparent nor clipped, (forms,).
    """

    items: list[int]
    kinds: NDArray[np.int64]
    forms: NDArray[np.int64]
    matrices: NDArray[np.float64]
    plain: NDArray[np.bool_]

    @classmethod
    def of(cls, page: pdfium.PdfPage) -> "PageObjects":
        address, count = calls.address_of(page), pdfium_c.FPDFPage_CountObjects(page)
        found, forms = list[tuple[int, int, int]](), [(pdfium.PdfMatrix(), True)]
        _add([calls.object_at(address, number) for number in range(count)], 0, 0, found, forms)
        kinds, inside = (np.array([one[column] for one in found], dtype=np.int64) for column in (1, 2))
        matrices = np.array([matrix.get() for matrix, _ in forms])
        plain = np.array([plain for _, plain in forms], dtype=np.bool_)
        return cls(items=[one[0] for one in found], kinds=kinds, forms=inside, matrices=matrices, plain=plain)

    def ranks(self, *kinds: int) -> NDArray[np.int64]:
        """The places in `items` of the objects of these kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def sides(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Left, bottom, right and top of objects, (n, 4) in PDF coordinates."""
        sides = calls.bounds([self.items[rank] for rank in ranks.tolist()])
        if len(self.matrices) == 1:
            return sides.astype(np.float64)
        left, bottom, right, top = sides.T
        a, b, c, d, e, f = self.matrices[self.forms[ranks]].T
        corners = [(a * x + c * y + e, b * x + d * y + f) for x in (left, right) for y in (bottom, top)]
        across, up = np.array(corners).transpose(1, 0, 2)
        return np.stack([across.min(axis=0), up.min(axis=0), across.max(axis=0), up.max(axis=0)], axis=1)


def _add(
    items: Sequence[int],
    form: int,
    depth: int,
    found: list[tuple[int, int, int]],
    forms: list[tuple[pdfium.PdfMatrix, bool]],
) -> None:
    """Append address, kind and form of objects and of those in forms, and what `PageObjects` says of these forms."""
    for item in items:
        kind = calls.kind_of(item)
        if kind != pdfium_c.FPDF_PAGEOBJ_FORM:
            found.append((item, kind, form))
        elif depth < _DEEPEST:
            outer, plain = forms[form]
            forms.append((calls.matrix_of(item).multiply(outer), plain and calls.is_plain(item)))
            inside = [calls.object_in_form(item, number) for number in range(calls.count_in_form(item))]
            _add(inside, len(forms) - 1, depth + 1, found, forms)
