"""Models of masked language modelling for measurements: ours, and peers as their library trains them.

The library's head goes over all tokens; ours decodes masked tokens alone.
"""

from typing import Any, Protocol

from torch import Tensor, nn
from transformers import AutoConfig

from benchmarks.measure.training_step import VOCABULARY, Case, encoder
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tensors import Batch


class Size(Protocol):
    """What configurations of ours have that a peer has too."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int


class LibraryModel(nn.Module):
    """A peer with its library's own head and loss."""

    def __init__(self, model: Any, *, boxes: bool = False) -> None:
        super().__init__()
        self.model = model
        self.boxes = boxes

    def forward(self, batch: Batch) -> Tensor:
        layout = {"bbox": batch.boxes} if self.boxes else {}
        return self.model(
            input_ids=batch.input_ids, attention_mask=batch.mask.long(), labels=batch.labels, **layout
        ).loss


def library_config(model_type: str, size: Size, length: int, **changes: Any) -> Any:
    """The library's configuration of a model of `size` for windows of `length` tokens."""
    return AutoConfig.for_model(
        model_type,
        vocab_size=VOCABULARY,
        pad_token_id=0,
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.feed_forward,
        max_position_embeddings=length + 1,
        **changes,
    )


def our_model(architecture: str, case: Case, **changes: Any) -> TaskModel:
    """One of our architectures, with `changes` to its configuration, and our head."""
    made = encoder(architecture, case, **changes)
    return TaskModel(made, MaskedLanguageModelHead(made))
