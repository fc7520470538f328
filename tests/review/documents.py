"""Generated receipts with answers, as a model that is unsure or wrong at times would give them."""

import hashlib
import io
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.tags import spans, split_tag
from layoutray.review.documents import AnsweredDocument
from layoutray.review.values import predicted_values
from layoutray.synthetic.render import itemised_bill, render_page

_FIELDS = frozenset({"company", "address", "date", "number", "name", "total"})
OF_ITEMS = ("item.name", "item.count", "item.unit_price", "item.price", "item.discount")


def drawn(seed: str) -> tuple[Image.Image, list[dict[str, Any]]]:
    """A receipt with line items, and its annotated words; those of other fields have no tags."""
    image, annotation = render_page(Random(seed), itemised_bill)
    known = _FIELDS.union(OF_ITEMS)
    return image, [word | ({} if split_tag(word["tag"])[1] in known else {"tag": "O"}) for word in annotation["words"]]


def page_of(picture: Image.Image, words: list[dict[str, Any]], number: int = 1, **changes: Any) -> Page:
    kept = tuple(
        Word(
            text=word["text"],
            box=Box.from_pixels(word["box"], picture.width, picture.height),
            confidence=0.97,
            line=word["line"],
        )
        for word in words
    )
    origin = Provenance(
        words="ocr", reason="a picture has no text layer", engine="rapidocr", version="3", settings="{}"
    )
    fields = {"doc_id": "d", "source": "d.png", "image": "", "split": "", **changes}
    return Page(number=number, width=picture.width, height=picture.height, words=kept, provenance=origin, **fields)


def entities_of(page: Page, words: list[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """The annotated entities, in the structure of the public JSON, with invented confidences."""
    found = []
    for kind, start, end in spans([word["tag"] for word in words]):
        of_it = page.words[start:end]
        polygon = list(Box.around(word.box for word in of_it).polygon(page.width, page.height))
        found.append(
            {
                "type": kind,
                "content": " ".join(word.text for word in of_it),
                "confidence": round(random.choice([0.99, 0.97, 0.91, 0.62]), 2),
                "bounding_regions": [{"page_number": page.number, "polygon": polygon}],
                "words": list(range(start, end)),
                "group": words[start].get("group"),
            }
        )
    return found


def records_of(entities: list[dict[str, Any]], number: int = 1) -> list[dict[str, Any]]:
    groups = {entity["group"]: [] for entity in entities if entity["group"] is not None}
    for entity in entities:
        if entity["group"] is not None:
            groups[entity["group"]].append(entity)
    return [
        {"name": "items", "page_number": number, "row": row, "fields": fields}
        for row, fields in enumerate(groups.values(), 1)
    ]


def fields_of(entities: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first entity of each type that is in no record, as a field."""
    first = {}
    for entity in entities:
        if entity["group"] is None:
            first.setdefault(entity["type"], entity)
    return [
        {**entity, "name": name, "value": entity["content"], "accepted": entity["confidence"] >= 0.95}
        for name, entity in first.items()
    ]


def answered(seed: str, folder: Path | None = None, pages: int = 1, **changes: Any) -> AnsweredDocument:
    """A receipt with answers; its picture is in `folder`, or the document's content without one."""
    image, words = drawn(seed)
    stream = io.BytesIO()
    image.save(stream, "PNG")
    content = stream.getvalue()
    picture = "" if folder is None else str(folder / f"{seed}.png")
    if folder is not None:
        Path(picture).write_bytes(content)
    doc_id = hashlib.sha256(content).hexdigest()
    place = {"doc_id": doc_id, "source": f"{seed}.png", "image": picture}
    every = tuple(page_of(image, words, number, **place) for number in range(1, pages + 1))
    entities = entities_of(every[0], words, Random(seed))
    said = predicted_values(fields_of(entities), entities, records_of(entities))
    fields: dict[str, Any] = {"model_id": "receipts", "model_version": "1", "content": b"" if folder else content}
    return AnsweredDocument(doc_id=doc_id, source=f"{seed}.png", pages=every, said=said, **(fields | changes))
