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
        in_forms: by its place in `items`, the matrix from the coordinates of an object in a form to those of the page.
    """

    items: list[int] = field(default_factory=list[int])
    kinds: list[int] = field(default_factory=list[int])
    in_forms: dict[int, pdfium.PdfMatrix] = field(default_factory=dict[int, pdfium.PdfMatrix])

    @classmethod
    def of(cls, page: pdfium.PdfPage) -> "PageObjects":
        address, objects = calls.address_of(page), cls()
        objects._add([calls.object_at(address, number) for number in range(pdfium_c.FPDFPage_CountObjects(page))])
        return objects

    def _add(self, items: Sequence[int], *outer: pdfium.PdfMatrix) -> None:
        for item in items:
            kind = calls.kind_of(item)
            if kind != pdfium_c.FPDF_PAGEOBJ_FORM:
                if outer:
                    self.in_forms[len(self.items)] = outer[-1]
                self.items.append(item)
                self.kinds.append(kind)
            elif len(outer) < _DEEPEST:
                matrix = pdfium.PdfMatrix.from_raw(calls.matrix_of(item))
                inside = [calls.object_in_form(item, number) for number in range(calls.count_in_form(item))]
                self._add(inside, *outer, matrix.multiply(outer[-1]) if outer else matrix)

    def ranks(self, *kinds: int) -> NDArray[np.int64]:
        """The places in `items` of the objects of these kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def sides(self, ranks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Left, bottom, right and top of objects, (n, 4) in PDF coordinates."""
        sides = calls.bounds([self.items[rank] for rank in ranks.tolist()]).astype(np.float64)
        for number, rank in enumerate(ranks.tolist()):
            if matrix := self.in_forms.get(rank):
                left, bottom, right, top = sides[number].tolist()
                corners = (matrix.on_point(x, y) for x in (left, right) for y in (bottom, top))
                xs, ys = zip(*corners, strict=True)
                sides[number] = min(xs), min(ys), max(xs), max(ys)
        return sides
