"""One training step of masked language modelling: Skimformer and LongSkimformer beside their peers.

The peers are measured as their library trains them, with its head over all tokens, and (`our head`) with our head, which
decodes masked tokens alone.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers import AutoConfig, LayoutLMForMaskedLM, LongformerForMaskedLM

from layoutray import architectures
from layoutray.bench.step_speed import VOCABULARY, Case, encoder
from layoutray.tasks import TaskModel
from layoutray.tasks.masked_lm import MaskedLanguageModelHead
from layoutray.tensors import Batch


class _LibraryModel(nn.Module):
    """A peer with its library's own head and loss."""

    def __init__(self, model: Any, *, boxes: bool) -> None:
        super().__init__()
        self.model = model
        self.boxes = boxes

    def forward(self, batch: Batch) -> Tensor:
        layout = {"bbox": batch.boxes} if self.boxes else {}
        return self.model(input_ids=batch.input_ids, attention_mask=batch.mask.long(), labels=batch.labels, **layout).loss


def _ours(architecture: str, case: Case, **changes: Any) -> nn.Module:
    made = encoder(architecture, case, **changes)
    return TaskModel(made, MaskedLanguageModelHead(made))


def _layoutlm(attention: str, case: Case) -> nn.Module:
    return _LibraryModel(LayoutLMForMaskedLM(_library("layoutlm", case, attn_implementation=attention)), boxes=True)


def _longformer(case: Case) -> nn.Module:
    return _LibraryModel(LongformerForMaskedLM(_library("longformer", case)), boxes=False)


def _library(model_type: str, case: Case, **changes: Any) -> Any:
    size = architectures.load("hf").sizes[case.size]
    windows = {"attention_window": size.window} if model_type == "longformer" else {}
    return AutoConfig.for_model(
        model_type,
        vocab_size=VOCABULARY,
        pad_token_id=0,
        hidden_size=size.hidden,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=size.feed_forward,
        max_position_embeddings=case.length + 1,
        **windows,
        **changes,
    )


MODELS: Mapping[str, Callable[[Case], nn.Module]] = {
    "Skimformer": partial(_ours, "skimformer"),
    "Skimformer, no contextualiser": partial(_ours, "skimformer", contextualiser_layers=0),
    "LayoutLM, eager": partial(_layoutlm, "eager"),
    "LayoutLM, SDPA": partial(_layoutlm, "sdpa"),
    "LayoutLM, our head": partial(_ours, "hf", model_type="layoutlm"),
    "Longformer": _longformer,
    "LongSkimformer": partial(_ours, "longskimformer"),
}
"""How each is built."""
