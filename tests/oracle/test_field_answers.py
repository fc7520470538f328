"""Entities of token scores, and values of fields from them, against numbers worked out from the paper's rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from layoutray.document import Box, Page, Word
from layoutray.document.answers import Entity
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE
from layoutray.readers.annotation import ANNOTATED
from layoutray.tasks.entities import Entities
from layoutray.tasks.field_answers import field_answers
from tests.oracle.cases import files


def entities(tokens: list[tuple[str, str, float]]) -> tuple[Entity, ...]:
    """Without a beginning of its own, a token of the same type goes on with the entity before it."""
    words = tuple(Word(text=text, box=Box(0, 0, 1, 1)) for text, _, _ in tokens)
    page = Page(
        doc_id="d",
        number=1,
        width=100,
        height=100,
        words=words,
        source="d",
        image="",
        split="test",
        provenance=ANNOTATED,
    )
    tags = [OUTSIDE if kind == OUTSIDE else f"I-{kind}" for _, kind, _ in tokens]
    return Entities().entities_from_tags(page, tags, [score for _, _, score in tokens])


def scored(found: tuple[Entity, ...], kinds: Any, *, many: bool) -> list[tuple[str, str, float]]:
    answers = field_answers(found, {kind: FieldType(type="text", many=many) for kind in kinds})
    return [(answer.name, answer.value, answer.score) for answer in answers]


@pytest.mark.parametrize("file", files("lambert/aggregation*.json"))
def test_values_of_fields(file: Path) -> None:
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        found = entities([tuple(token) for token in case["tokens"]])
        assert [(one.type, one.content, pytest.approx(one.confidence, abs=1e-10)) for one in found] == [
            tuple(span) for span in case["spans"]
        ]
        every = [
            (kind, form, pytest.approx(score, abs=1e-10))
            for kind, forms in case["aggregated"].items()
            for form, score in forms.items()
        ]
        assert sorted(scored(found, case["aggregated"], many=True)) == sorted(every, key=lambda answer: answer[:2])
        best = [(kind, form, pytest.approx(score, abs=1e-10)) for kind, (form, score) in case["best"].items()]
        assert scored(found, case["best"], many=False) == best
