"""Our architectures as models of the transformers library: `import layoutray.auto_classes` registers them.

Afterwards `AutoConfig` and `AutoModelForTokenClassification` load a folder that `layoutray export huggingface` has
written for an architecture that the library does not have. No code is loaded from the folder.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import tokenizers
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForTokenClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import TokenClassifierOutput

from layoutray import architectures, config
from layoutray import tokenizer as vocabularies
from layoutray.batching.collate import IGNORED, collate
from layoutray.batching.examples import unlabelled
from layoutray.document import Box, Page, Provenance, Word
from layoutray.tasks import TaskModel
from layoutray.tasks.word_labels import CERTAIN, TokenClassificationHead
from layoutray.tensors import BOX_GRID, Batch, Encoder


class LayoutrayConfig(PreTrainedConfig):
    """The name of one of our architectures, and its configuration, as in the section [model] of a recipe."""

    model_type = "layoutray"

    arch: str = ""
    settings: dict[str, Any] | None = None
    vocab_size: int = 0
    pad_token_id: int | None = 0


class LayoutrayForTokenClassification(PreTrainedModel):
    """An encoder of ours with a head that gives each token one label. Parameters are named as in checkpoints."""

    config_class = LayoutrayConfig

    def __init__(self, config: LayoutrayConfig) -> None:
        super().__init__(config)
        model = _build(config)
        self.encoder, self.head = model.encoder, model.head
        self.post_init()

    @classmethod
    def from_pretrained(cls, *arguments: Any, **keywords: Any) -> Any:
        """As the library's. It does not keep buffers that are not stored, so these are made again."""
        loaded = super().from_pretrained(*arguments, **keywords)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        fresh = dict(_build(model.config).named_buffers())
        for name, buffer in model.named_buffers():
            if name not in model.state_dict():
                buffer.copy_(fresh[name])
        return loaded

    def forward(
        self,
        input_ids: Int[Tensor, "batch length"],
        bbox: Int[Tensor, "batch length 4"],
        attention_mask: Int[Tensor, "batch length"] | None = None,
        labels: Int[Tensor, "batch length"] | None = None,
        **page: Tensor,
    ) -> TokenClassifierOutput:
        """Logits of all tokens in the order of the input, and with `labels` (-100 for none) the mean cross-entropy.

        Args:
            bbox: as `Batch.boxes`.
            page: `word_index`, `neighbours` and `page_sizes` as in `Batch`, which some architectures need.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        given = Batch(
            input_ids=input_ids,
            boxes=bbox,
            mask=mask.bool(),
            word_index=page.get("word_index"),
            neighbours=page.get("neighbours"),
            page_sizes=page.get("page_sizes"),
        )
        encoded, logits = TaskModel(self.encoder, self.head).scores(given)
        logits = encoded.in_input_order(logits, input_ids.shape[1], CERTAIN)
        loss = None if labels is None else functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return TokenClassifierOutput(loss=cast(Any, loss), logits=cast(Any, logits))

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: `_build` draws the initial weights."""


def page_inputs(
    model: LayoutrayForTokenClassification,
    tokenizer: Any,
    words: Sequence[str],
    boxes: Sequence[Sequence[int]],
    page_size: tuple[int, int],
) -> dict[str, Tensor]:
    """The inputs of `model` for the windows of a page.

    `word_index` says to which word of its window each token belongs.

    Args:
        tokenizer: of the library, loaded from the model's folder.
        boxes: x0 y0 x1 y1 of each word, in thousandths of the page.
        page_size: width and height in pixels.
    """
    settings = cast(LayoutrayConfig, model.config)
    vocabulary = vocabularies.wrap(tokenizers.Tokenizer.from_str(tokenizer.backend_tokenizer.to_str()))
    placed = tuple(
        Word(text=text, box=Box(*(side / BOX_GRID for side in box))) for text, box in zip(words, boxes, strict=True)
    )
    page = Page(
        doc_id="",
        number=1,
        width=page_size[0],
        height=page_size[1],
        words=placed,
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="given"),
    )
    architecture = architectures.load(settings.arch)
    longest = min(tokenizer.model_max_length, cast(Encoder, model.encoder).max_length)
    batch = collate(unlabelled(page, vocabulary, longest, architecture.find_neighbours), vocabulary.pad_id)
    inputs: Mapping[str, Tensor | None] = {
        "input_ids": batch.input_ids,
        "bbox": batch.boxes,
        "attention_mask": batch.mask.long(),
        "word_index": batch.word_index,
        "neighbours": batch.neighbours,
        "page_sizes": batch.page_sizes,
    }
    return {name: tensor for name, tensor in inputs.items() if tensor is not None}


def _build(stored: Any) -> TaskModel:
    architecture = architectures.load(stored.arch)
    settings = config.build(architecture.config, stored.settings or {}, "settings")
    encoder: Any = architecture.build(settings, vocab_size=stored.vocab_size, pad_id=stored.pad_token_id)
    head = TokenClassificationHead(encoder.width, stored.num_labels, settings.dropout)
    architecture.initialise(head, encoder.width)
    return TaskModel(encoder, head)


assert IGNORED == -100, "the library's losses ignore this label"
AutoConfig.register(LayoutrayConfig.model_type, LayoutrayConfig)
AutoModelForTokenClassification.register(LayoutrayConfig, LayoutrayForTokenClassification)
