"""Labels of pages: kind and position, learned from the stated documents of packets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from layoutray import devices
from layoutray.cli.shared import step_time
from layoutray.document import Document, Page
from layoutray.document.packets import part_field
from layoutray.errors import InputError
from layoutray.inference.extractor import Extractor
from layoutray.prepare.encode import Encoder, labels_for
from layoutray.store import codec, shards
from layoutray.store.data_set import DataSet
from layoutray.store.schema import PAGES
from layoutray.tasks import LabelsPages
from layoutray.tasks.page_labels import PageHead, PageLabelling
from layoutray.tasks.word_labels import WindowLabels
from layoutray.tensors import Encoded
from tests.jobs import NO_DROPOUT, job, page, recipe, vocabulary
from tests.training.runs import alone

TASK = PageLabelling()
LABELS = tuple(f"{prefix}-{kind}" for kind in ("bill", "form") for prefix in "BIES")


def data_set(folder: Path, pages: Sequence[Page], *parts: tuple[str, str]) -> DataSet:
    """One packet whose documents are of (kind, pages)."""
    written = DataSet(str(folder))
    shards.write(codec.pages_table(pages, [f"page-{one.number}" for one in pages]), written.pages, "part-0.parquet")
    fields = tuple(part_field(*part) for part in parts)
    packet = Document(doc_id=pages[0].doc_id, source="p.pdf", split="train", num_pages=len(pages), fields=fields)
    shards.write(codec.documents_table([packet]), written.documents, "part-0.parquet")
    return written


@pytest.fixture
def packet() -> list[Page]:
    return [replace(page(7), number=number) for number in range(1, 6)]


def test_each_page_has_the_label_of_its_place_in_the_document_that_is_stated(
    tmp_path: Path, packet: list[Page]
) -> None:
    made = data_set(tmp_path, packet, ("form", "4-"), ("bill", "1-2"))
    assert labels_for(TASK, [made]) == LABELS
    encoder = Encoder(
        task=TASK, max_length=256, labels=LABELS, vocabulary=vocabulary().inner.to_str(), data_sets=(made,)
    )
    examples, dead = encoder(shards.read(made.pages, PAGES))
    found = {row["page"]: [label for label in row["labels"] if label >= 0] for row in examples.to_pylist()}
    assert found == {1: [0], 2: [2], 3: [], 4: [4], 5: [6]}, "page 3 is in no document"
    assert not dead


def test_pages_of_a_file_without_stated_documents_are_dead_letters(tmp_path: Path, packet: list[Page]) -> None:
    made = data_set(tmp_path, packet)
    with pytest.raises(InputError, match="columns file, pages, kind"):
        labels_for(TASK, [made])
    encoder = Encoder(
        task=TASK, max_length=256, labels=LABELS, vocabulary=vocabulary().inner.to_str(), data_sets=(made,)
    )
    assert [letter.reason for letter in encoder(shards.read(made.pages, PAGES))[1]] == ["bad_annotation"] * 5


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ([("form", "1-2"), ("bill", "4~5")], "value 2 of 'part' of p.pdf: .* '4~5 bill'; the pages must be a number"),
        ([("form", "1-2"), ("bill", "2-5")], "value 2 of 'part' of p.pdf: '2-5 bill' and '1-2 form' have pages"),
    ],
)
def test_a_stated_document_that_is_mistyped_is_refused(
    tmp_path: Path, packet: list[Page], parts: Sequence[tuple[str, str]], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        labels_for(TASK, [data_set(tmp_path, packet, *parts)])


def test_the_first_and_the_last_words_of_a_long_page_are_read(packet: list[Page]) -> None:
    word = packet[0].words[0]
    long = replace(packet[0], words=tuple(replace(word, text=str(number)) for number in range(400)))
    read = [int(one.text) for one in TASK.read(long).words]
    assert read == [*range(110), *range(350, 400)]
    assert TASK.read(packet[0]) is packet[0]


def test_shares_of_pages_are_those_of_kind_and_place() -> None:
    def seen(number: int, gold: int, found: int) -> WindowLabels:
        one, found_only = np.zeros(1, np.int32), np.eye(8, dtype=np.float32)[[found]]
        labels, kept = np.array([gold], np.int32), np.ones(1, np.bool_)
        return WindowLabels(
            doc_id="a", page=number, window=0, words=one, areas=one, gold=labels, scores=found_only, kept=kept
        )

    scores = TASK.summarise([seen(1, 3, 0), seen(2, 1, 0), seen(3, 4, 0), seen(4, 6, 5)], LABELS)
    assert scores == {"accuracy": 0.5, "kind_accuracy": 0.75, "begin_accuracy": 0.75, "pages": 4.0}


def test_a_window_is_labelled_from_its_real_states_alone() -> None:
    torch.manual_seed(0)
    head = PageHead(4, 3)
    states, mask = torch.randn(1, 300, 4), torch.arange(300)[None] < 200
    real = states[:, :200]
    parts = real[:, 0], real[:, :128].mean(1), real[:, -128:].mean(1), real.amax(1)
    scores = head(Encoded.of_all_tokens(states, mask))
    assert torch.allclose(scores, head.classifier(torch.cat(parts, -1))[:, None].expand(1, 300, 3), atol=1e-6)


def test_a_fitted_head_minimises_the_penalised_loss_and_a_label_without_examples_is_impossible() -> None:
    generator = torch.Generator().manual_seed(1)
    features, targets = torch.randn(60, 16, generator=generator) * 5 + 3, torch.arange(60) % 3
    features[:, 0] += 4 * targets
    head = PageHead(4, 4)
    loss = head.fit(features, targets)
    weight, bias = (one.detach() for one in head.parameters())
    scores = features @ weight.T + bias
    assert loss == pytest.approx(float(functional.cross_entropy(scores, targets)), rel=1e-4)
    assert scores.softmax(-1)[:, 3].max() < 1e-20
    mean, spread = features.mean(0), features.std(0, correction=0) + 0.01
    standardised = (weight * spread).requires_grad_()
    scores = (features - mean) / spread @ standardised.T + bias + weight @ mean
    (functional.cross_entropy(scores, targets, reduction="sum") + 5 * standardised.square().sum()).backward()
    assert standardised.grad is not None
    assert standardised.grad.abs().max() < 1e-2, "the gradient is 0 at the minimum"


def test_a_trained_model_states_the_probability_of_each_label_of_a_page(tmp_path: Path) -> None:
    first_words = {"bill": ("total", "carried"), "form": ("annex", "signed")}
    packets: list[Page] = []
    documents: list[Document] = []
    for number in range(4):
        made, kind = page(number), ("bill", "form")[number % 2]
        packets += [
            replace(made, number=place, words=(replace(made.words[0], text=text), *made.words[1:]))
            for place, text in enumerate(first_words[kind], start=1)
        ]
        fields = (part_field(kind, ""),)
        documents.append(Document(doc_id=made.doc_id, source=made.source, split="train", num_pages=2, fields=fields))
    folder = DataSet(str(tmp_path / "ingested")).documents
    shards.write(codec.documents_table(documents), folder, "part-0.parquet")
    settings = recipe("page_labels", model=NO_DROPOUT, steps=1, max_length=96)
    trained = job(tmp_path, settings, packets)
    alone(trained)
    extractor = Extractor.load(trained.out)
    assert isinstance(extractor.tagging.task, LabelsPages)
    for one, found in zip(packets, extractor.extract(packets), strict=True):
        assert [entity.type for entity in found] == [*LABELS]
        assert sum(entity.confidence for entity in found) == pytest.approx(1, abs=1e-5)
        best = max(found, key=lambda entity: entity.confidence)
        assert one.words[0].text == first_words[best.type[2:]]["BE".index(best.type[0])]
        assert best.bounding_regions[0].page_number == one.number
    assert extractor.extract([replace(packets[0], words=())]) == [()], "a blank page has no label"
    assert step_time.seconds(trained, devices.CPU) > 0, "the fit is one step"
