"""An extractor answers pages; pages that share a forward pass do not change each other's answers."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint
from layoutray.document import Box, Provenance, Word
from layoutray.errors import CheckpointError
from layoutray.inference.extractor import Extractor
from layoutray.recipe import recipes
from layoutray.tensors import Batch, Encoded
from tests import documents
from tests.cluster.checkpoints import save_untrained
from tests.jobs import NO_DROPOUT, job, page, pages, recipe, vocabulary
from tests.training.runs import alone


@pytest.fixture(scope="module")
def extractor(tmp_path_factory: pytest.TempPathFactory) -> Extractor:
    """Trained until it knows its receipts; windows are so short that pages need several."""
    settings = recipe("entities", model=NO_DROPOUT, steps=150, learning_rate=5e-3, max_length=24)
    one = job(tmp_path_factory.mktemp("extractor"), settings, pages(6))
    alone(one)
    return Extractor.load(one.out)


def expected(number: int) -> list[str]:
    """The tagged values of a receipt, as text."""
    found: list[list[str]] = []
    for word in page(number).words:
        if str(word.tag).startswith("B-"):
            found.append([])
        if word.tag != "O":
            found[-1].append(word.text)
    return [" ".join(words) for words in found]


def test_it_finds_the_entities_of_its_training_pages(extractor: Extractor) -> None:
    assert extractor.entity_types == ("date", "total")
    found = extractor.extract(pages(6))
    assert [[entity.content for entity in entities] for entities in found] == [expected(number) for number in range(6)]
    assert all(0.5 < entity.confidence <= 1 for entities in found for entity in entities)


def test_probabilities_are_those_at_the_checkpoints_temperature(tmp_path: Path) -> None:
    settings = recipe("entities", model=NO_DROPOUT, steps=60, learning_rate=5e-3, max_length=24)
    one = job(tmp_path, settings, pages(6))
    alone(one)
    found: dict[float, list[Any]] = {}
    for temperature in (1.0, 3.0):
        loaded = dataclasses.replace(checkpoint.load(one.out), temperature=temperature)
        found[temperature] = [
            entity for page in Extractor(loaded, "m", torch.device("cpu")).extract(pages(6)) for entity in page
        ]
    assert [(one.type, one.words) for one in found[1.0]] == [(one.type, one.words) for one in found[3.0]]
    assert found[1.0]
    assert all(mild.confidence < sure.confidence for sure, mild in zip(found[1.0], found[3.0], strict=True))


def test_answers_do_not_depend_on_the_other_pages_of_a_batch(extractor: Extractor) -> None:
    together = extractor.extract(pages(30))
    for number, entities in enumerate(together):
        (single,) = extractor.extract([page(number)])
        assert [(e.type, e.words) for e in entities] == [(e.type, e.words) for e in single]
        assert [e.confidence for e in entities] == pytest.approx([e.confidence for e in single], abs=1e-5)


class PaddingAnywhere(torch.nn.Module):
    """An encoder whose states of padding claim to stand for the first word."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner, self.max_length = inner, inner.max_length

    def forward(self, batch: Batch) -> Encoded:
        encoded = self.inner(batch)
        return dataclasses.replace(encoded, origin=encoded.origin.masked_fill(~encoded.mask, 1))


def test_answers_do_not_depend_on_the_batch_when_tokens_are_dropped() -> None:
    """An untrained Pyramidion finds meaningless entities, but the same ones in every batch."""
    chosen = recipes.from_dict(
        {
            "name": "drops",
            "task": {"name": "entities"},
            "train": {"steps": 1},
            "model": {"arch": "pyramidion", "size": "tiny", "halvings": [1, 1]},
            "max_length": 24,
        }
    )
    labels = ("O", "B-date", "I-date")
    model = checkpoint.build_model(chosen, vocabulary(), labels).eval()
    model.encoder = PaddingAnywhere(model.encoder)
    model.head.classifier.bias.data[1] += 0.2  # nothing at all is a date
    untrained = Extractor(
        Checkpoint(recipe=chosen, labels=labels, tokenizer=vocabulary(), model=model, metrics={}, provenance={}),
        "drops",
        torch.device("cpu"),
    )
    together = untrained.extract(pages(20))
    assert any(together)
    for number, entities in enumerate(together):
        (single,) = untrained.extract([page(number)])
        assert [(e.type, e.words) for e in entities] == [(e.type, e.words) for e in single]


def test_an_answer_names_its_document_and_its_model(extractor: Extractor) -> None:
    (answer,) = extractor.answers([page(2)])
    assert (answer.doc_id, answer.source, answer.status) == (page(2).doc_id, "receipt-2.png", "success")
    assert (answer.model_id, len(answer.model_version)) == ("small-entities", 12)
    (seen,) = answer.pages
    assert (seen.page_number, seen.width, seen.height, seen.num_words) == (1, 600, 800, len(page(2).words))


def test_an_answer_to_words_of_another_source_says_so(extractor: Extractor) -> None:
    read = dataclasses.replace(page(0), provenance=Provenance(words="ocr", reason="", engine="tesserocr", version="5"))
    own, other = extractor.answers([page(0), read])
    assert own.to_json()["warnings"] == ()
    assert [one["code"] for one in other.to_json()["warnings"]] == ["other_words"]


def test_a_page_without_words_has_no_entities(extractor: Extractor) -> None:
    (answer,) = extractor.answers([dataclasses.replace(page(1), words=())])
    assert (answer.entities, answer.pages[0].num_words) == ((), 0)


def test_marks_and_signatures_that_the_model_does_not_know_are_answered_by_their_labels(tmp_path: Path) -> None:
    fields = {"smoker": {"type": "mark"}, "other": {"type": "mark"}, "signature": {"type": "signature"}}
    save_untrained(tmp_path, fields=fields)
    words = tuple(
        Word(text=text, box=Box(0.1 * at, 0.1, 0.1 * at + 0.09, 0.12), confidence=0.8)
        for at, text in enumerate(("☑", "Smoker", "☐", "Married", "Signed", "✍"))
    )
    one = dataclasses.replace(page(0), words=words)
    answers = Extractor.load(tmp_path).answer_fields([one])
    assert {(one.name, one.value, one.content) for one in answers} == {
        ("smoker", "on", "☑"),
        ("signature", "signed", "✍"),
    }
    assert all(one.confidence == pytest.approx(0.8) for one in answers)


def test_no_pages_have_no_answers(extractor: Extractor) -> None:
    assert extractor.answers([]) == []


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        Extractor.load(tmp_path)


def test_a_model_that_labels_no_words_is_refused() -> None:
    chosen = documents.recipe("generate_fields")
    loaded = Checkpoint(
        recipe=chosen,
        labels=(),
        tokenizer=vocabulary(),
        model=checkpoint.build_model(chosen, vocabulary(), ()),
        metrics={},
        provenance={},
    )
    with pytest.raises(
        CheckpointError, match="small-generate_fields is a model of task generate_fields, which finds no entities"
    ):
        Extractor(loaded, chosen.name, torch.device("cpu"))
