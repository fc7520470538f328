"""One pass of a model gives the observations of its task and the entities of its pages."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from layoutray import checkpoint, devices
from layoutray.checkpoint import Checkpoint
from layoutray.document import Document, Field, Page
from layoutray.document.tags import spans
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.examples import EncodedPages, encode_pages
from layoutray.evaluation.page_selection import PageSelection
from layoutray.evaluation.predictions import predict
from layoutray.inference.extractor import Extractor
from layoutray.recipe import recipes
from layoutray.store import codec, shards
from layoutray.training import loop, world
from layoutray.training.feed import recipe_feed
from tests.jobs import NO_DROPOUT, job, page, pages, recipe, write_pages
from tests.training.runs import alone

FIELDS = {name: {"type": "text", "many": True} for name in ("date", "total")}
MICRO_BATCH = 4


def receipt_document(receipt: Page) -> Document:
    """The tagged values of a receipt, without their boxes."""
    tagged = spans([word.tag for word in receipt.words])
    values = [(kind, " ".join(word.text for word in receipt.words[start:end])) for kind, start, end in tagged]
    return Document(
        doc_id=receipt.doc_id,
        source=receipt.source,
        split=receipt.split,
        num_pages=1,
        fields=tuple(Field(*value) for value in values),
    )


def write_receipts(folder: Path, receipts: list[Page]) -> PageSelection:
    """A data set of receipts with an image and with documents."""
    with_images = [replace(receipt, image=receipt.source) for receipt in receipts]
    shards.write(codec.documents_table(map(receipt_document, receipts)), f"{folder}/documents", "part.parquet")
    return PageSelection((write_pages(folder, with_images),), "train")


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> PageSelection:
    """Six receipts that the model has learned."""
    return write_receipts(tmp_path_factory.mktemp("receipts"), pages(6))


@pytest.fixture(scope="module")
def loaded(selection: PageSelection, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A model with fields, windows that are shorter than most pages, and a temperature that is not 1."""
    settings = recipe("entities_bioes", model=NO_DROPOUT, steps=120, learning_rate=5e-3, max_length=24).to_dict()
    settings["task"] = {"name": "entities_bioes", "fields": FIELDS}
    folder = tmp_path_factory.mktemp("trained")
    shards.write(codec.documents_table(selection.documents()), str(folder / "ingested" / "documents"), "part.parquet")
    trained = job(folder, recipes.from_dict(settings), pages(6))
    alone(trained)
    return replace(checkpoint.load(trained.out), temperature=1.7)


@pytest.fixture
def encoded(loaded: Checkpoint, selection: PageSelection) -> EncodedPages:
    return encode_pages(loaded, selection)


def test_an_evaluation_of_a_model_with_fields_reads_each_window_once(
    loaded: Checkpoint, selection: PageSelection, encoded: EncodedPages
) -> None:
    batch_sizes: list[int] = []
    hook = loaded.model.encoder.register_forward_pre_hook(lambda _, inputs: batch_sizes.append(len(inputs[0].mask)))
    try:
        evaluation = evaluate(loaded, selection)
    finally:
        hook.remove()
    assert evaluation.fields is not None
    assert evaluation.words is not None
    assert len(evaluation.words.overlays) == 4
    assert len(encoded.examples) > 6, "pages need several windows"
    assert sum(batch_sizes) == len(encoded.examples)
    assert len(batch_sizes) == math.ceil(len(encoded.examples) / MICRO_BATCH)


def test_answers_are_those_of_an_extractor(
    loaded: Checkpoint, selection: PageSelection, encoded: EncodedPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "multiplies_bf16", lambda device: False)  # evaluations compute in float32
    predictions = predict(loaded, encoded.examples, lambda key: True)
    (table,) = selection.tables()
    receipts = list(codec.pages_of(table))
    extracted = Extractor(loaded, "model", world.single_process().device).extract(receipts)
    found = predictions.entities(receipts)
    assert [[(one.type, one.words) for one in of_page] for of_page in found] == [
        [(one.type, one.words) for one in of_page] for of_page in extracted
    ]
    assert any(found)
    confidences, expected = ([one.confidence for of_page in every for one in of_page] for every in (found, extracted))
    # Windows share a batch with others than in the extractor, so that sums of float32 differ in their last digits.
    assert confidences == pytest.approx(expected, abs=1e-6)


def test_observations_are_those_of_training(loaded: Checkpoint, encoded: EncodedPages) -> None:
    predictions = predict(loaded, encoded.examples, lambda key: True)
    feed = recipe_feed(loaded.recipe, loaded.tokenizer, encoded.examples)
    expected = loop.observe(loaded.model, loaded.recipe.task, feed, world.single_process())
    assert [seen.scores.tolist() for seen in predictions.observations] == [seen.scores.tolist() for seen in expected]


def test_pages_outside_the_pass_are_extracted(loaded: Checkpoint, encoded: EncodedPages) -> None:
    predictions = predict(loaded, encoded.examples, lambda key: key[0] == page(0).doc_id)
    extractor = Extractor(loaded, "model", world.single_process().device)
    wanted = [page(0), page(7), replace(page(1), words=()), page(2)]
    found, expected = predictions.entities(wanted), extractor.extract(wanted)
    assert found[1:] == extractor.extract(wanted[1:])
    assert [one.words for one in found[0]] == [one.words for one in expected[0]]


def test_a_page_of_two_data_sets_is_answered_from_its_own_words(
    loaded: Checkpoint, selection: PageSelection, tmp_path: Path
) -> None:
    """The same document ingested twice may have other words; windows do not say which data set they are from."""
    shorter = [replace(receipt, words=receipt.words[:5]) for receipt in pages(6)]
    both = PageSelection((*selection.folders, *write_receipts(tmp_path, shorter).folders), "train")
    predictions = predict(loaded, encode_pages(loaded, both).examples, lambda key: True)
    extractor = Extractor(loaded, "model", world.single_process().device)
    assert predictions.entities(shorter) == extractor.extract(shorter)
