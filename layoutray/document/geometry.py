"""Boxes in page-relative coordinates, origin top left."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from layoutray.errors import DocumentError, Reason


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box, relative to the page: 0 ≤ x0 ≤ x1 ≤ 1 and 0 ≤ y0 ≤ y1 ≤ 1, origin top left.

    Raises:
        DocumentError: (bad_box) when a side is not finite, inverted or outside the page.
    """

    x0: float
    y0: float
    x1: float
    y1: float

    def __post_init__(self) -> None:
        if not (0 <= self.x0 <= self.x1 <= 1 and 0 <= self.y0 <= self.y1 <= 1):
            raise DocumentError(
                Reason.BAD_BOX,
                f"box ({self.x0}, {self.y0}, {self.x1}, {self.y1}) must satisfy 0 <= x0 <= x1 <= 1 and "
                "0 <= y0 <= y1 <= 1, relative to the page; divide pixels by the page size, or use Box.repaired",
                stage="annotation",
            )

    @classmethod
    def from_pixels(cls, sides: Iterable[float], width: float, height: float) -> "Box":
        """Box of (x0, y0, x1, y1) in pixels of a page of `width` x `height`. Raises DocumentError as `Box`."""
        x0, y0, x1, y1 = sides
        return cls(x0 / width, y0 / height, x1 / width, y1 / height)

    @classmethod
    def repaired(cls, sides: Iterable[float], width: float, height: float) -> tuple["Box", bool]:
        """Like `from_pixels`, but swaps inverted sides and clips sides to the page.

        Returns:
            The box, and whether it was changed (readers count repairs).

        Raises:
            DocumentError: (bad_box) when a side is not finite, or the whole box lies outside the page.
        """
        x0, y0, x1, y1 = (float(side) for side in sides)
        if not all(map(math.isfinite, (x0, y0, x1, y1))):
            raise DocumentError(
                Reason.BAD_BOX, f"box ({x0}, {y0}, {x1}, {y1}) has a side that is not finite", stage="annotation"
            )
        left, right = sorted((x0 / width, x1 / width))
        top, bottom = sorted((y0 / height, y1 / height))
        if right < 0 or left > 1 or bottom < 0 or top > 1:
            raise DocumentError(
                Reason.BAD_BOX,
                f"box ({x0}, {y0}, {x1}, {y1}) lies outside its page of {width} x {height} pixels",
                stage="annotation",
            )
        box = cls(max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0))
        return box, not (0 <= x0 / width <= x1 / width <= 1 and 0 <= y0 / height <= y1 / height <= 1)

    @classmethod
    def around(cls, boxes: Iterable["Box"]) -> "Box":
        """The smallest box around `boxes` (at least one)."""
        x0s, y0s, x1s, y1s = zip(*((box.x0, box.y0, box.x1, box.y1) for box in boxes), strict=True)
        return cls(min(x0s), min(y0s), max(x1s), max(y1s))

    @property
    def area(self) -> float:
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    def overlap(self, other: "Box") -> float:
        """Area of the intersection, as a share of the page's area."""
        wide = min(self.x1, other.x1) - max(self.x0, other.x0)
        high = min(self.y1, other.y1) - max(self.y0, other.y0)
        return max(wide, 0.0) * max(high, 0.0)

    def iou(self, other: "Box") -> float:
        """Intersection over union, 0..1; 0 for two boxes without area."""
        shared = self.overlap(other)
        union = self.area + other.area - shared
        return shared / union if union else 0.0

    def to_pixels(self, width: int, height: int) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1) in pixels of a page of `width` x `height`."""
        return self.x0 * width, self.y0 * height, self.x1 * width, self.y1 * height

    def polygon(self, width: int, height: int) -> tuple[float, ...]:
        """The four corners as eight numbers in pixels, clockwise from the top left, as in answers."""
        x0, y0, x1, y1 = (round(side, 2) for side in self.to_pixels(width, height))
        return x0, y0, x1, y0, x1, y1, x0, y1


def smallest_around(boxes: Iterable[Box], areas: Sequence[Box]) -> Iterator[int | None]:
    """For each box, the index of the smallest of `areas` that contains its centre; None when no area does."""
    by_size = sorted(range(len(areas)), key=lambda number: areas[number].area)
    for box in boxes:
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        yield next((n for n in by_size if areas[n].x0 <= x <= areas[n].x1 and areas[n].y0 <= y <= areas[n].y1), None)
