"""Peers from the transformers library: BERT, RoBERTa, LayoutLM and Longformer, built from their configuration with fresh weights.

They are what Skimformer and LongSkimformer are compared with, so their sizes are theirs; `base` is the library's default
configuration, as in the paper's baselines. Only LayoutLM looks at boxes.

Departures from the published models: no pooler (nothing here uses it, and a parameter without gradient stops DDP);
LayoutLM gets a box of zeros for the end token too, where its authors gave it 1000s. Longformer's weights for global attention
are not trained: no token is global here. LiLT is not offered: in the library it has parameters that token tasks never reach.
"""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from layoutray.architectures import Architecture, check_heads, check_ranges
from layoutray.errors import InputError
from layoutray.nn.initialise import initialise
from layoutray.tensors import Batch, Encoded


@dataclass(frozen=True)
class PeerConfig:
    """The defaults are the library's, i.e. BERT-base and LayoutLM-base.

    Attributes:
        model_type: the library's name of the model.
        hidden: width of the states.
        layers: number of layers.
        heads: attention heads per layer.
        feed_forward: inner width of feed-forward blocks.
        dropout: on embeddings, updates and heads.
        attention_dropout: on attention probabilities.
        max_length: longest window in tokens; rows of the position table.
        window: even; how many tokens each token of Longformer sees, half of them to either side. The others see all.
    """

    model_type: Literal["bert", "roberta", "layoutlm", "longformer"] = "bert"
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    max_length: int = 512
    window: int = 512

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"window": 2})
        check_heads(self, "hidden", "heads")
        if self.window % 2:
            raise InputError(f"window is {self.window}; it must be even, half of it lies on either side")


class Peer(nn.Module):
    """A model of the transformers library behind the `Encoder` protocol."""

    def __init__(self, config: PeerConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.model: Any = AutoModel.from_config(_library_config(config, vocab_size, pad_id))
        # LayoutLM cannot be built without its pooler; what it returns is dropped.
        self.model.pooler = nn.Identity()
        self.norm_epsilon: float = self.model.config.layer_norm_eps
        self.takes_boxes = config.model_type == "layoutlm"
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_("_global." not in name)

    @property
    def word_embedding(self) -> nn.Embedding:
        return cast(nn.Embedding, self.model.get_input_embeddings())

    def forward(self, batch: Batch) -> Encoded:
        layout = {"bbox": batch.boxes} if self.takes_boxes else {}
        states = self.model(input_ids=batch.input_ids, attention_mask=batch.mask.long(), **layout).last_hidden_state
        origin = torch.arange(states.shape[1], device=states.device).expand(states.shape[:2])
        return Encoded(states, batch.mask, origin)


def _library_config(config: PeerConfig, vocab_size: int, pad_id: int) -> Any:
    # RoBERTa and Longformer count positions from pad_id + 1.
    first_position = pad_id + 1 if config.model_type in ("roberta", "longformer") else 0
    windows = {"attention_window": config.window} if config.model_type == "longformer" else {}
    return AutoConfig.for_model(
        config.model_type,
        vocab_size=vocab_size,
        pad_token_id=pad_id,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.attention_dropout,
        max_position_embeddings=config.max_length + first_position,
        **windows,
    )


ARCHITECTURE = Architecture(
    name="hf",
    config=PeerConfig,
    sizes={
        "tiny": PeerConfig(hidden=128, layers=2, heads=4, feed_forward=512, window=64),
        "small": PeerConfig(hidden=256, layers=4, heads=4, feed_forward=1024, window=128),
        "base": PeerConfig(),
    },
    build=Peer,
    initialise=initialise,
)
