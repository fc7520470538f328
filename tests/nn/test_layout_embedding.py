import pytest
import torch
from torch import nn

from layoutray.nn.layout_embedding import BoxEmbedding, CentreEmbedding, SequenceEmbedding, UniformBoxEmbedding

BOXES = torch.tensor([[[0, 0, 0, 0], [1, 2, 4, 9], [3, 3, 10, 10]]])


def embedding(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return kind(6, 11, 0.1).eval()


@torch.no_grad()
def test_six_look_ups_are_summed_and_normalised() -> None:
    boxes = embedding(BoxEmbedding)
    row = (
        boxes.x.weight[1]
        + boxes.y.weight[2]
        + boxes.x.weight[4]
        + boxes.y.weight[9]
        + boxes.height.weight[7]
        + boxes.width.weight[3]
    )
    torch.testing.assert_close(boxes(BOXES)[0, 1], boxes.norm(row))


@torch.no_grad()
def test_centre_rounds_down_and_knows_no_extent() -> None:
    centres = embedding(CentreEmbedding)
    torch.testing.assert_close(centres(BOXES)[0, 1], centres.norm(centres.x.weight[2] + centres.y.weight[5]))
    assert set(dict(centres.named_children())) == {"x", "y", "norm", "dropout"}


@torch.no_grad()
def test_uniform_boxes_are_boxes_of_zeros() -> None:
    assert torch.equal(embedding(UniformBoxEmbedding)(BOXES), embedding(BoxEmbedding)(torch.zeros_like(BOXES)))


@torch.no_grad()
def test_sequence_embedding_counts_tokens() -> None:
    sequence = embedding(SequenceEmbedding)
    torch.testing.assert_close(
        sequence(BOXES.repeat(2, 1, 1)), sequence.norm(sequence.position.weight[:3]).expand(2, 3, 6)
    )


@pytest.mark.parametrize("kind", [BoxEmbedding, CentreEmbedding, UniformBoxEmbedding, SequenceEmbedding])
def test_dropout_comes_last_and_in_training_only(kind: type[nn.Module]) -> None:
    layout = embedding(kind)
    assert (layout(BOXES) != 0).all()
    layout.train()
    assert any((layout(BOXES) == 0).any() for _ in range(20))
