"""Models that start from one that answers fields by their names."""

from pathlib import Path

import torch

from layoutray import checkpoint
from layoutray.document.field_type import FieldType
from layoutray.inference.by_name import named
from layoutray.recipe import recipes
from layoutray.training.start import start_model
from tests.training.test_start import LABELS, SKIMFORMER, VOCABULARY, of, trained_as


def test_tags_start_from_the_names_of_their_fields(tmp_path: Path) -> None:
    """Of a model that answers fields by their names; a description is read in place of the name."""
    source = trained_as(of(SKIMFORMER, "fields_by_name"), tmp_path)
    values = of(SKIMFORMER, "entities_bioes").to_dict()
    values["task"]["fields"] = {"date": {"type": "date"}, "x": {"description": "grand total"}}
    chosen = recipes.from_dict(values)
    labels = chosen.task.label_names([["B-date", "B-x"]])  # pyright: ignore[reportAttributeAccessIssue]
    model = checkpoint.build_model(chosen, VOCABULARY, labels)
    assert start_model(model, chosen, VOCABULARY, [source], labels=labels) == ()
    fields = {"date": FieldType(type="date"), "x": FieldType(description="grand total")}
    expected = named(checkpoint.load(source), fields)
    assert expected.labels == labels
    given = expected.model.state_dict()
    assert all(torch.equal(tensor, given[name]) for name, tensor in model.state_dict().items())


def test_a_model_by_name_goes_on_from_another(tmp_path: Path) -> None:
    chosen = of(SKIMFORMER, "fields_by_name")
    source, model = trained_as(chosen, tmp_path), checkpoint.build_model(chosen, VOCABULARY, LABELS)
    start_model(model, chosen, VOCABULARY, [source], labels=LABELS)
    given = checkpoint.load(source).model.state_dict()
    assert all(torch.equal(tensor, given[name]) for name, tensor in model.state_dict().items())
