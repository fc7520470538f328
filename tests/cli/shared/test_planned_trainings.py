"""Trainings of labelled documents: whether their models can be measured."""

import pytest

from layoutray.cli.shared.planned_trainings import check_measured
from layoutray.document import Document
from layoutray.errors import InputError


def test_models_are_measured_on_a_document_that_is_known_as_a_whole() -> None:
    whole, partial = (
        Document(doc_id=name, source=name, split="train", num_pages=1, partial=name != "whole")
        for name in ("whole", "partial")
    )
    check_measured([{"whole"}, {"partial"}], [whole, partial])
    with pytest.raises(InputError, match="only some values are known"):
        check_measured([{"partial"}], [whole, partial])
