"""The objects of a PDF page in the order in which they are painted, also those in forms."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from numpy.typing import NDArray

from layoutray.ocr import calls

_DEEPEST = 15
"""Forms in forms that are followed; a form can contain itself."""


@dataclass(frozen=True, slots=True)
class PageObjects:
    """Objects of a page, without the forms themselves.

    Attributes:
        items: addresses of the objects, in the order in which they are painted.
        kinds: PDFium's number for the kind of each object.
        forms: the form that each object is in, an index of `matrices`; 0 for the page.
        matrices: from the coordinates of each form to those of the page.
    """

    items: list[int] = field(default_factory=list[int])
    kinds: list[int] = field(default_factory=list[int])
    forms: list[int] = field(default_factory=list[int])
    matrices: list[pdfium.PdfMatrix] = field(default_factory=lambda: [pdfium.PdfMatrix()])

    @classmethod
    def of(cls, page: pdfium.PdfPage) -> "PageObjects":
        address, objects = calls.address_of(page), cls()
        count = pdfium_c.FPDFPage_CountObjects(page)
        objects._add([calls.object_at(address, number) for number in range(count)], form=0, depth=0)
        return objects

    def _add(self, items: Sequence[int], form: int, depth: int) -> None:
        for item in items:
            kind = calls.kind_of(item)
            if kind != pdfium_c.FPDF_PAGEOBJ_FORM:
                self.items.append(item)
                self.kinds.append(kind)
                self.forms.append(form)
            elif depth < _DEEPEST:
                self.matrices.append(calls.matrix_of(item).multiply(self.matrices[form]))
                inside = [calls.object_in_form(item, number) for number in range(calls.count_in_form(item))]
                self._add(inside, len(self.matrices) - 1, depth + 1)

    def ranks(self, *kinds: int) -> NDArray[np.int64]:
        """The places in `items` of the objects of these kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def sides(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Left, bottom, right and top of objects, (n, 4) in PDF coordinates."""
        left, bottom, right, top = calls.bounds([self.items[rank] for rank in ranks.tolist()]).T
        matrices = np.array([matrix.get() for matrix in self.matrices])
        a, b, c, d, e, f = matrices[np.array(self.forms, dtype=np.int64)[ranks]].T
        corners = [(a * x + c * y + e, b * x + d * y + f) for x in (left, right) for y in (bottom, top)]
        across, up = np.array(corners).transpose(1, 0, 2)
        return np.stack([across.min(axis=0), up.min(axis=0), across.max(axis=0), up.max(axis=0)], axis=1)
