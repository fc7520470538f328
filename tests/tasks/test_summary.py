"""Models that generate texts learn each token from the true ones before it."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional

from layoutray import checkpoint
from layoutray.batching.collate import IGNORED
from layoutray.document import Page
from layoutray.errors import DocumentError, Reason
from layoutray.inference.generation import TextGenerator
from layoutray.tasks import AnswersFields, TagsWords, TaskModel, WritesTexts
from layoutray.tasks.summary import Summary
from layoutray.tensors import Batch
from tests.documents import document, pages, recipe, summary, with_writing
from tests.jobs import vocabulary

TASK = Summary()


def model(smoothing: float = 0.0) -> TaskModel:
    return checkpoint.build_model(with_writing(recipe(), label_smoothing=smoothing), vocabulary(), ())


def batch() -> Batch:
    """Two documents whose texts have three words and one."""
    ids = torch.tensor([[2, 9, 10, 11, 12, 3], [2, 30, 31, 3, 0, 0]])
    labels = torch.tensor([[7, 8, 9, 3], [6, 3, IGNORED, IGNORED]])
    return Batch(input_ids=ids, boxes=torch.zeros(2, 6, 4, dtype=torch.long), mask=ids != 0, labels=labels)


def test_the_text_is_the_first_summary_and_a_document_without_one_is_refused() -> None:
    assert TASK.text(document(pages(0), "one", "two")) == "one"
    with pytest.raises(DocumentError, match=r"receipt-0\.png has no summary") as refused:
        TASK.text(document(pages(0)))
    assert refused.value.reason is Reason.BAD_ANNOTATION


@torch.no_grad()
def test_the_loss_is_that_of_each_word_after_the_true_ones() -> None:
    made, given = model().eval(), batch()
    expected = 0.0
    for row, text in enumerate(([7, 8, 9, 3], [6, 3])):
        encoded = made.encoded(
            Batch(
                input_ids=given.input_ids[row : row + 1],
                boxes=given.boxes[row : row + 1],
                mask=given.mask[row : row + 1],
            )
        )
        for place, word in enumerate(text):
            logits = made.head.decoder(torch.tensor([[2, *text[:place]]]), encoded)
            expected += float(functional.cross_entropy(logits[0, -1:], torch.tensor([word])))
    assert float(made(given)) == pytest.approx(expected, abs=1e-3)
    assert TASK.summarise(TASK.observe(made, given, ()), ())["written_tokens"] == 6


@torch.no_grad()
def test_labels_are_smoothed_in_training_alone() -> None:
    sharp, smooth = model(), model(0.2)
    assert float(smooth.eval()(batch())) == pytest.approx(float(sharp.eval()(batch())), rel=1e-6)
    encoded = sharp.train().encoded(batch())
    previous = torch.tensor([[2, 7, 8, 9], [2, 6, 0, 0]])
    chances = sharp.head(previous, encoded).log_softmax(-1)[batch().labels != IGNORED]
    spread = -0.2 * chances.mean(-1).sum()
    assert float(smooth.train()(batch())) == pytest.approx(0.8 * float(sharp(batch())) + float(spread), rel=1e-5)


def test_the_decoder_reads_the_words_of_the_encoder_by_the_same_table() -> None:
    made = model()
    assert made.head.decoder.word_embedding is made.encoder.word_embedding
    made(batch()).backward()
    silent = [name for name, parameter in made.named_parameters() if parameter.grad is None or not parameter.grad.any()]
    assert silent == []


def test_it_writes_texts_and_neither_tags_words_nor_answers_fields() -> None:
    assert isinstance(TASK, WritesTexts)
    assert not isinstance(TASK, TagsWords | AnswersFields)


def test_it_learns_eight_documents_by_heart(trained_on_summaries: tuple[Path, list[list[Page]]]) -> None:
    folder, wholes = trained_on_summaries
    texts, table = TextGenerator.load(folder).write(wholes), vocabulary()
    assert [table.text_to_ids(text.text) for text in texts] == [table.text_to_ids(summary(whole)) for whole in wholes]
