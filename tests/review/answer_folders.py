"""A folder of answers, as `layoutray predict` writes it, about generated receipts."""

import json
from pathlib import Path
from random import Random

from layoutray.document import Page
from layoutray.document.answers import DocumentFields, FieldAnswer, Region
from layoutray.store import shards
from layoutray.store.answer_set import AnswerSet
from tests.jobs import write_pages
from tests.review.documents import drawn, entities_of, fields_of, page_of, records_of


def write_answers(folder: Path, seeds: list[str], pages_each: int = 1) -> tuple[str, str]:
    """Folders of the answers to receipts and of their pages; each page of a document is a receipt of its own."""
    pages: list[Page] = []
    lines: list[str] = []
    fields: list[DocumentFields] = []
    for seed in seeds:
        found = []
        for number in range(1, pages_each + 1):
            picture, words = drawn(f"{seed}-{number}")
            image = folder / f"{seed}-{number}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            picture.save(image)
            place = {"doc_id": f"id-{seed}", "source": str(folder / f"{seed}.pdf"), "image": str(image)}
            pages.append(page_of(picture, words, number, **place))
            entities = entities_of(pages[-1], words, Random(f"{seed}-{number}"))
            found += entities
            lines.append(json.dumps(_line(pages[-1], entities)))
        answered = tuple(map(_field, fields_of(found)))
        fields.append(
            DocumentFields(
                doc_id=f"id-{seed}",
                source=str(folder / f"{seed}.pdf"),
                model_id="receipts",
                model_version="3",
                fields=answered,
            )
        )
    answers = AnswerSet(str(folder / "answers"))
    shards.write_bytes("\n".join(reversed(lines)).encode(), answers.lines, "part-one.jsonl")
    answers.write_fields(fields, "part-one")
    return answers.folder, write_pages(folder / "pages", pages[::-1])


def _line(page: Page, entities: list[dict[str, object]]) -> dict[str, object]:
    about = {"doc_id": page.doc_id, "source": page.source, "model_id": "receipts", "model_version": "3"}
    return about | {
        "entities": entities,
        "records": records_of(entities, page.number),
        "pages": [{"page_number": page.number, "width": page.width, "height": page.height}],
    }


def _field(field: dict[str, object]) -> FieldAnswer:
    regions = tuple(Region(one["page_number"], tuple(one["polygon"])) for one in field["bounding_regions"])
    name, content, confidence = field["name"], field["content"], field["confidence"]
    return FieldAnswer(
        name=name,
        value=content,
        content=content,
        confidence=confidence,
        score=confidence,
        bounding_regions=regions,
        accepted=field["accepted"],
    )
