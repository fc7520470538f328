"""Export of labelled pages as JSON in which entities are objects: FUNSD's, and COCO's of pictures and boxes.

Both formats state boxes in pixels of the picture, here with three decimals, and know neither a document of several
files nor its id. A member `layoutray` of a page holds what they lack. Words without a tag are outside of entities.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from layoutray.document import Box, Page
from layoutray.document.tags import Span, are_entity_tags, spans
from layoutray.errors import DocumentError, Reason

ORIGIN = "layoutray"
"""Member of a page in both formats: document, page and lines of words."""
OUTSIDE_LABEL = "other"
"""Label of FUNSD for words outside of entities."""


def funsd(page: Page) -> dict[str, Any]:
    """The page as a file of FUNSD: entities, and words outside as `other`. Raises DocumentError (bad_annotation)."""
    form = [
        {
            "id": number,
            "label": kind or OUTSIDE_LABEL,
            "text": " ".join(word.text for word in page.words[start:end]),
            "box": _pixels(Box.around(word.box for word in page.words[start:end]), page),
            "words": [{"text": word.text, "box": _pixels(word.box, page)} for word in page.words[start:end]],
            "linking": [],
        }
        for number, (kind, start, end) in enumerate(_segments(page))
    ]
    return {"form": form, ORIGIN: _origin(page)}


def coco(pages: Sequence[tuple[Page, str]]) -> dict[str, Any]:
    """Pages with the names of their pictures as one file of COCO: a category for each type, a box for each entity.

    An annotation has the numbers of its words, which the image lists.

    Raises:
        DocumentError: (bad_annotation) if their tags are not those of entities.
    """
    found = [(image, page, span) for image, (page, _) in enumerate(pages) for span in _entities(page)]
    kinds = {kind: number for number, kind in enumerate(sorted({kind for _, _, (kind, _, _) in found}), start=1)}
    return {
        "images": [
            {
                "id": number,
                "file_name": name,
                "width": page.width,
                "height": page.height,
                "words": [{"text": word.text, "box": _pixels(word.box, page)} for word in page.words],
                ORIGIN: _origin(page),
            }
            for number, (page, name) in enumerate(pages)
        ],
        "categories": [{"id": number, "name": kind} for kind, number in kinds.items()],
        "annotations": [
            {"id": number, "image_id": image, "category_id": kinds[span[0]], **_area(page, span)}
            for number, (image, page, span) in enumerate(found)
        ],
    }


def _area(page: Page, span: Span) -> dict[str, Any]:
    """The members of an annotation that its place determines."""
    x0, y0, x1, y1 = _pixels(Box.around(word.box for word in page.words[span[1] : span[2]]), page)
    width, height = round(x1 - x0, 3), round(y1 - y0, 3)
    numbers = list(range(span[1], span[2]))
    return {"bbox": [x0, y0, width, height], "area": round(width * height, 3), "iscrowd": 0, "words": numbers}


def _entities(page: Page) -> list[Span]:
    tags = [word.tag for word in page.words]
    if any(tags) and not are_entity_tags(tags):
        raise DocumentError(
            Reason.BAD_ANNOTATION,
            f"page {page.number} of {page.source} has labels of regions, which this format cannot hold; "
            "use --format datasets",
            stage="annotation",
        )
    found = spans(tags)
    if any(kind == OUTSIDE_LABEL for kind, _, _ in found):
        raise DocumentError(
            Reason.BAD_ANNOTATION,
            f"page {page.number} of {page.source} has entities of type {OUTSIDE_LABEL!r}, which FUNSD gives to words "
            "outside of entities; use --format datasets",
            stage="annotation",
        )
    return found


def _segments(page: Page) -> Iterator[Span]:
    """Entities, and the words between them under the empty type: a run for each block."""
    end = 0
    for kind, start, stop in (*_entities(page), ("", len(page.words), len(page.words))):
        while end < start:
            first = end
            while end < start and page.words[end].block == page.words[first].block:
                end += 1
            yield "", first, end
        if kind:
            yield kind, start, stop
        end = stop


def page_origin(page: Page) -> dict[str, Any]:
    """What identifies an exported page, and the lines and blocks of its words."""
    return {
        "doc_id": page.doc_id,
        "page": page.number,
        "source": page.source,
        "width": page.width,
        "height": page.height,
        "lines": [word.line for word in page.words],
        "blocks": [word.block for word in page.words],
    }


def _origin(page: Page) -> dict[str, Any]:
    return page_origin(page) | {"labelled": any(word.tag is not None for word in page.words)}


def _pixels(box: Box, page: Page) -> list[float]:
    return [round(side, 3) for side in box.to_pixels(page.width, page.height)]
