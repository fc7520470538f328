"""Trainings of labelled documents: how long they are, and whether their models can be measured."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.cli.shared.planned_trainings import check_measured, schedule_for
from layoutray.document import Document
from layoutray.errors import InputError
from layoutray.store.card import Card
from tests import jobs


def test_models_are_measured_on_a_document_that_is_known_as_a_whole() -> None:
    whole, partial = (
        Document(doc_id=name, source=name, split="train", num_pages=1, partial=name != "whole")
        for name in ("whole", "partial")
    )
    check_measured([{"whole"}, {"partial"}], [whole, partial])
    with pytest.raises(InputError, match="only some values are known"):
        check_measured([{"partial"}], [whole, partial])


def test_documents_that_are_known_in_part_are_trained_longer_from_an_encoder(tmp_path: Path) -> None:
    encoder = jobs.recipe("masked_lm")
    examples = jobs.encode(tmp_path, jobs.recipe("entities"), jobs.pages(6))
    assert schedule_for(examples, encoder, 0).steps == 100
    replace(Card.read(examples), partial=2).write(examples)
    assert schedule_for(examples, encoder, 0).steps == 300
