"""Uncertainty and mean state of documents that an untrained model reads."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from layoutray.active_learning.reading import read_documents
from layoutray.document import Page
from layoutray.inference.extractor import Extractor
from tests import documents
from tests.cluster.checkpoints import save_untrained


@pytest.fixture(scope="module")
def extractor(tmp_path_factory: pytest.TempPathFactory) -> Extractor:
    folder = tmp_path_factory.mktemp("untrained")
    save_untrained(folder)
    return Extractor.load(folder, torch.device("cpu"))


def two_documents() -> list[Page]:
    return [page for number in range(2) for page in documents.pages(number)]


def test_the_uncertainty_is_the_expected_number_of_wrong_labels(extractor: Extractor) -> None:
    pages = two_documents()
    for document in read_documents(extractor, [pages]):
        own = [page for page in pages if page.doc_id == document.doc_id]
        windows = extractor.tagging.windows(own)
        wrong = [
            1 - float(probabilities[position].max())
            for (window,), probabilities in zip(windows, extractor.probabilities(windows), strict=True)
            for position in (window.word_index.tolist().index(word) for word in range(window.word_index.max() + 1))
        ]
        assert document.words == len(wrong) == sum(len(page.words) for page in own)
        assert document.uncertainty == pytest.approx(sum(wrong), rel=1e-4)
        doubts = [1 - word.confidence for word in document.doubts]
        assert doubts == pytest.approx(sorted(wrong, reverse=True)[: len(doubts)], rel=1e-4)


def test_a_document_is_the_same_whatever_is_read_beside_it(extractor: Extractor) -> None:
    first, second, third, fourth = two_documents()
    together = read_documents(extractor, [[first, second, third, fourth]])
    apart = read_documents(extractor, [[third, first], [second, fourth]])
    for one in together:
        (same,) = (other for other in apart if other.doc_id == one.doc_id)
        assert same.uncertainty == pytest.approx(one.uncertainty, rel=1e-4)
        np.testing.assert_allclose(same.state, one.state, atol=1e-5)


def test_documents_without_words_are_left_out(extractor: Extractor) -> None:
    blank, full = (replace(page, doc_id=name) for page, name in zip(two_documents(), ("blank", "full"), strict=False))
    assert [read.doc_id for read in read_documents(extractor, [[replace(blank, words=()), full]])] == ["full"]
