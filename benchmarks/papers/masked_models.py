"""Models of masked language modelling: ours, and those of the transformers library with their own heads.

The heads of the library decode all tokens; ours decodes only masked tokens.
"""

from typing import Any, Protocol

from torch import Tensor, nn
from transformers import AutoConfig

from benchmarks.measure.training_step import VOCABULARY, StepCase, build_encoder
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tensors import Batch


class Size(Protocol):
    """The sizes that configurations of ours and of the library have in common."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int


class LibraryModel(nn.Module):
    """A model of the library with its own head and loss."""

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


def our_model(architecture: str, case: StepCase, **changes: Any) -> TaskModel:
    """One of our architectures with `changes` to its configuration, and our head."""
    encoder = build_encoder(architecture, case, **changes)
    return TaskModel(encoder, MaskedLanguageModelHead(encoder))
