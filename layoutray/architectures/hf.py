"""Peers from the transformers library: BERT, RoBERTa, LayoutLM, LiLT and Longformer, built from their configuration with fresh weights.

They are what Skimformer and LongSkimformer are compared with, so their sizes are theirs; `base` is the library's default
configuration, as in the paper's baselines. Only LayoutLM and LiLT look at boxes.

Departures from the published models: no pooler (nothing here uses it, and a parameter without gradient stops DDP);
LayoutLM gets a box of zeros for the end token too, where its authors gave it 1000s. Longformer's weights for global attention
are not trained: no token is global here; nor what LiLT's last layer does with the layout stream after attention: no layer reads it. The
library's LiLT wants a width that six divides; here any does, as its layer after the six embeddings of a box takes what they fill.
"""

from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from layoutray.architectures import Architecture, check_heads, check_ranges
from layoutray.errors import InputError
from layoutray.nn.block import LAYER_NORM_EPSILON
from layoutray.nn.initialise import initialise, standard_deviation
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
        segments: rows of the segment table, of which only the first is used; published RoBERTas have 1.
        norm_epsilon: of LayerNorms; published RoBERTas have 1e-5.
        window: even; how many tokens each token of Longformer sees, half of them to either side. The others see all.
    """

    model_type: Literal["bert", "roberta", "layoutlm", "lilt", "longformer"] = "bert"
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    feed_forward: int = 3072
    dropout: float = 0.1
    attention_dropout: float = 0.1
    max_length: int = 512
    segments: int = 2
    norm_epsilon: float = LAYER_NORM_EPSILON
    window: int = 512

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"window": 2})
        check_heads(self, "hidden", "heads")
        if self.window % 2:
            raise InputError(f"window is {self.window}; it must be even, half of it lies on either side")
        if self.model_type == "lilt" and self.hidden // self.heads % 4:
            raise InputError(
                f"hidden / heads is {self.hidden // self.heads}; LiLT's layout heads have a quarter of it, so four must divide it"
            )


class Peer(nn.Module):
    """A model of the transformers library behind the `Encoder` protocol."""

    def __init__(self, config: PeerConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.model: Any = AutoModel.from_config(_library_config(config, vocab_size, pad_id))
        # LayoutLM cannot be built without its pooler; what it returns is dropped.
        self.model.pooler = nn.Identity()
        self.norm_epsilon = config.norm_epsilon
        self.takes_boxes = config.model_type in ("layoutlm", "lilt")
        if config.model_type == "lilt":
            boxes = self.model.layout_embeddings
            boxes.box_linear_embeddings = nn.Linear(
                6 * boxes.x_position_embeddings.embedding_dim, boxes.box_linear_embeddings.out_features
            )
            initialise(boxes.box_linear_embeddings, config.hidden)
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(not _unreached(name, config))

    @property
    def word_embedding(self) -> nn.Embedding:
        return cast(nn.Embedding, self.model.get_input_embeddings())

    def forward(self, batch: Batch) -> Encoded:
        layout = {"bbox": batch.boxes} if self.takes_boxes else {}
        states = self.model(input_ids=batch.input_ids, attention_mask=batch.mask.long(), **layout).last_hidden_state
        origin = torch.arange(states.shape[1], device=states.device).expand(states.shape[:2])
        return Encoded(states, batch.mask, origin)


def _unreached(name: str, config: PeerConfig) -> bool:
    """Whether the states of tokens do not depend on a parameter."""
    past_attention = name.startswith(f"encoder.layer.{config.layers - 1}.") and any(
        part in name for part in ("layout_value.", "layout_output.", "layout_intermediate.")
    )
    return "_global." in name or past_attention


def _library_config(config: PeerConfig, vocab_size: int, pad_id: int) -> Any:
    # RoBERTa, LiLT and Longformer count positions from pad_id + 1.
    first_position = pad_id + 1 if config.model_type in ("roberta", "lilt", "longformer") else 0
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
        initializer_range=standard_deviation(config.hidden),
        type_vocab_size=config.segments,
        layer_norm_eps=config.norm_epsilon,
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
