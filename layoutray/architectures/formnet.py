"""FormNet, of "FormNet: Structural Encoding beyond Sequential Modeling in Form Document Information Extraction" (ACL
2022, arXiv:2203.08411): ETC (arXiv:2004.08483) with Rich Attention over super-tokens.

Words first exchange messages with their neighbours on the page, along the edges of a β-skeleton, which gives
super-tokens. Each token then attends to nearby tokens in reading order and to one global token; Rich Attention adjusts
the scores by comparing the actual layout of two tokens with the layout that a head predicts. There are no absolute
positions. Time and memory are linear in length.

    symbol          name here                 meaning
    o, d, θ, p, μ   nn.rich_attention         order and log-distance on the page, and their predictions (section 3.1)
    graph           batch.neighbours          β-skeleton (β = 1) of the window's words, see document.word_graph
    m_kl, e_kl      nn.super_tokens           messages between neighbours, and their relative position (section 3.2)
    r               radius                    a token sees the r tokens to either side
    long, global    states, token             ETC's two kinds of tokens; there is one global token
    W_q, W_k, W_v   layers[k].attention       shared by both kinds, like layers[k].feed_forward

Departures from the paper, and choices where it does not specify:
- Orders and distances are predicted from (q, k), as in the paper's footnote 5; 1/√d scales the dot product, not the
  Rich terms.
- Coordinates are box centres in thousandths of the page; the order has one direction; each axis and head has one θ. The
  global token has no coordinates and gets no Rich terms. Special tokens have the coordinates (0, 0), like their boxes.
- ETC's relative positions are used together with Rich Attention, which adds x and y. They are terms of a long token's
  scores: each distance and the global key have a vector. The global token's own scores have none.
- The last layer does not update the global token, which no later layer reads. There are no segments.
- Queries of padding attend to nothing.
- The graph connects words, not sub-word tokens, which all have the word's box. A word's super-token is added to each of
  its tokens like an update, LN(token + Dropout(super-token)). If it replaced the tokens, all tokens of a word would be
  equal, and a masked one could not be predicted.
- `layout = "winding"` adds LAMBERT's layout embedding to the input (`nn.layout_input`), for absolute places on the
  page.
- `core = "bert"` or `"roberta"` starts from a trained encoder of this kind, which the paper does not do. Input
  embeddings then contain sequential positions and a segment. Super-tokens are added without LayerNorm, through a linear
  map (`nn.gentle`). This map and the global token start near zero, ETC's relative positions at zero, and θ at 0.05, so
  that with a radius of the window's length the states change little at first.
"""

from dataclasses import dataclass
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask

from layoutray.architectures import Architecture, EncoderConfig, check_heads, check_ranges, check_winding, text_encoder
from layoutray.document.word_graph import word_neighbours
from layoutray.errors import InputError
from layoutray.nn.block import LAYER_NORM_EPSILON, AddAndNorm, FeedForward
from layoutray.nn.gentle import GENTLE, GentleUpdate, start_small
from layoutray.nn.global_local_attention import GlobalLocalAttention
from layoutray.nn.global_local_context import dense_probabilities
from layoutray.nn.initialise import initialise
from layoutray.nn.layout_input import AdapterName, WindingInput
from layoutray.nn.rich_attention import INITIAL_THETA, RichAttention
from layoutray.nn.super_tokens import SuperTokens
from layoutray.nn.weight_names.bert import FORMNET_FROM_PEER
from layoutray.tensors import Batch, Encoded

_GENTLE_THETA = 0.05
"""Initial θ on a trained `core`: lowers a score by 0.06 at a distance of 1000."""


@dataclass(frozen=True, kw_only=True)
class FormNetConfig(EncoderConfig):
    """The defaults are the paper's FormNet-A2, with ETC's radius, clipping and dropout.

    Attributes:
        core: the trained encoder to start from (`bert`, `roberta`); `none` trains from scratch, as in the paper.
        attention_dropout: on attention probabilities; above 0, training on a GPU cannot use the fused kernel.
        radius: r; each token sees r tokens to either side.
        relative_positions: largest distance in tokens with its own relative position, at most `radius`; 0 means no
            relative positions.
        attention: `rich` is the paper's; `plain` is ETC's, which does not use boxes.
        graph_layers: number of graph convolutions that compute super-tokens; 0 means no super-tokens.
        layout: layout embedding in the input: LAMBERT's (`winding`), or `none`, as in the paper.
        adapter: the linear map of `winding`: `plain`, which learns faster from scratch, or `gentle`, which divides its
            input by √n, so that the first steps do not disturb a trained `core`.
    """

    core: Literal["none", "bert", "roberta"] = "none"
    max_length: int = 1024
    radius: int = 84
    relative_positions: int = 12
    attention: Literal["rich", "plain"] = "rich"
    graph_layers: int = 12
    layout: Literal["none", "winding"] = "none"
    adapter: AdapterName = "plain"
    segments: int = 2
    norm_epsilon: float = LAYER_NORM_EPSILON

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"relative_positions": 0, "graph_layers": 0})
        check_heads(self, "hidden", "heads")
        check_winding(self)
        if self.relative_positions > self.radius:
            raise InputError(
                f"relative_positions is {self.relative_positions}; it must be at most radius, which is {self.radius}"
            )


class GlobalUpdate(nn.Module):
    """The parts of a layer that the global token does not share with long tokens: output projection and LayerNorms."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        self.output = nn.Linear(config.hidden, config.hidden)
        self.join = AddAndNorm(config.hidden, config.dropout, config.norm_epsilon)
        self.join_feed_forward = AddAndNorm(config.hidden, config.dropout, config.norm_epsilon)

    def forward(
        self, token: Float[Tensor, "batch 1 width"], context: Float[Tensor, "batch 1 width"], feed_forward: FeedForward
    ) -> Float[Tensor, "batch 1 width"]:
        token = self.join(token, self.output(context))
        return self.join_feed_forward(token, feed_forward.update(token))


class FormNetLayer(nn.Module):
    """A layer of ETC (post-norm). Without `update`, it leaves the global token unchanged."""

    def __init__(self, config: FormNetConfig, update: GlobalUpdate | None) -> None:
        super().__init__()
        theta = INITIAL_THETA if config.core == "none" else _GENTLE_THETA
        head_size = config.hidden // config.heads
        rich = RichAttention(config.heads, head_size, theta=theta) if config.attention == "rich" else None
        self.attention = GlobalLocalAttention(
            config.hidden,
            config.heads,
            config.radius,
            clip=config.relative_positions,
            rich=rich,
            dropout=config.attention_dropout,
        )
        self.output = nn.Linear(config.hidden, config.hidden)
        self.join = AddAndNorm(config.hidden, config.dropout, config.norm_epsilon)
        self.feed_forward = FeedForward(config.hidden, config.feed_forward, config.dropout, config.norm_epsilon)
        self.update = update

    def forward(
        self,
        states: Float[Tensor, "batch length width"],
        token: Float[Tensor, "batch 1 width"],
        mask: Bool[Tensor, "batch length"],
        places: Float[Tensor, "batch length 2"],
        tiles: BlockMask | None,
    ) -> tuple[Float[Tensor, "batch length width"], Float[Tensor, "batch 1 width"]]:
        context = self.attention(torch.cat([token, states], dim=1), mask, places, tiles)
        states = self.feed_forward(self.join(states, self.output(context[:, 1:])))
        return states, token if self.update is None else self.update(token, context[:, :1], self.feed_forward)


class SuperTokenEmbedding(nn.Module):
    """Adds super-tokens to the tokens of their words."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        self.super_tokens = SuperTokens(config.hidden, config.graph_layers, config.dropout, config.norm_epsilon)
        self.join = (
            AddAndNorm(config.hidden, config.dropout, config.norm_epsilon)
            if config.core == "none"
            else GentleUpdate(config.hidden, config.dropout)
        )

    def forward(self, tokens: Float[Tensor, "batch length width"], batch: Batch) -> Float[Tensor, "batch length width"]:
        """Raises InputError if the batch has no word graph."""
        if batch.word_index is None or batch.neighbours is None:
            raise InputError(
                "the examples have no word graph, which graph_layers needs; make them with `layoutray encode`"
            )
        return self.join(tokens, self.super_tokens(tokens, batch.boxes, batch.word_index, batch.neighbours))


class FormNet(nn.Module):
    """The encoder: super-tokens, then layers of local and global attention.

    Weights start as BERT's; what is added to a `core` starts small.
    """

    def __init__(self, config: FormNetConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = config.norm_epsilon
        self.first_position = pad_id + 1 if config.core == "roberta" else 0
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        if config.core != "none":
            self.position_embedding = nn.Embedding(self.first_position + config.max_length, config.hidden)
            self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.has_core = config.core != "none"
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.layout = WindingInput(config.hidden, config.adapter) if config.layout == "winding" else None
        self.super_tokens = SuperTokenEmbedding(config) if config.graph_layers else None
        self.global_embedding = nn.Embedding(1, config.hidden)
        self.global_norm = nn.LayerNorm(config.hidden, eps=config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        updates = [GlobalUpdate(config) for _ in range(config.layers - 1)]
        self.layers = nn.ModuleList(FormNetLayer(config, update) for update in [*updates, None])
        initialise(self, config.hidden)
        if self.layout is not None:
            start_small(self.layout.adapter)
        if self.has_core:
            self._start_gently()

    def _start_gently(self) -> None:
        norms = [self.global_norm]
        for part in self.modules():
            if isinstance(part, GentleUpdate):
                start_small(part.adapter)
            elif isinstance(part, GlobalUpdate):
                norms += (part.join.norm, part.join_feed_forward.norm)
            elif isinstance(part, GlobalLocalAttention) and part.relative is not None:
                nn.init.zeros_(part.relative.weight)
        for norm in norms:  # of a global token of nearly zero, to which others attend little
            nn.init.constant_(norm.weight, GENTLE)

    def forward(self, batch: Batch) -> Encoded:
        states, _ = self._run_layers(len(self.layers), batch)
        return Encoded.of_all_tokens(states, batch.mask)

    def attention(self, batch: Batch, layer: int) -> Float[Tensor, "batch heads length length"]:
        """Attention probabilities of layer `layer`, counted from 0, for pictures; rows are queries, columns are keys.

        A row sums to 1 minus the attention to the global token.

        Raises:
            InputError: if there is no such layer.
        """
        if not 0 <= layer < len(self.layers):
            raise InputError(
                f"layer is {layer}; it must be at least 0 and below the number of layers, which is {len(self.layers)}"
            )
        states, token = self._run_layers(layer, batch)
        attention = cast(FormNetLayer, self.layers[layer]).attention
        inputs = attention.attention_inputs(torch.cat([token, states], dim=1), batch.mask, centres(batch.boxes))
        return dense_probabilities(inputs)[..., 1:, 1:]

    def embed(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """The states of long tokens before the first layer."""
        text = self.word_embedding(batch.input_ids)
        if self.has_core:
            positions = self.position_embedding.weight[self.first_position :][: batch.input_ids.shape[1]]
            text = text + positions + self.segment_embedding.weight[0]
        tokens = self.norm(text if self.layout is None else text + self.layout(batch))
        return self.dropout(tokens if self.super_tokens is None else self.super_tokens(tokens, batch))

    def _run_layers(
        self, layers: int, batch: Batch
    ) -> tuple[Float[Tensor, "batch length width"], Float[Tensor, "batch 1 width"]]:
        """The states of the long tokens and of the global token after the first `layers` layers."""
        states = self.embed(batch)
        token = self.dropout(self.global_norm(self.global_embedding.weight).expand(len(states), 1, -1))
        places = centres(batch.boxes)
        tiles = cast(FormNetLayer, self.layers[0]).attention.tiles(batch.mask)
        for layer in self.layers[:layers]:
            states, token = layer(states, token, batch.mask, places, tiles)
        return states, token


def centres(boxes: Tensor) -> Float[Tensor, "batch length 2"]:
    """x and y of the centres of boxes, in the unit of the boxes."""
    return (boxes[..., :2] + boxes[..., 2:]) / 2


ARCHITECTURE = Architecture(
    name="formnet",
    config=FormNetConfig,
    sizes={
        "tiny": FormNetConfig(hidden=128, layers=2, heads=4, feed_forward=512, radius=16, graph_layers=2),
        "small": FormNetConfig(hidden=256, layers=4, heads=4, feed_forward=1024, graph_layers=4),
        "minilm": FormNetConfig(
            core="bert",
            hidden=384,
            layers=6,
            feed_forward=1536,
            max_length=512,
            radius=128,
            graph_layers=2,
            adapter="gentle",
        ),
        "a1": FormNetConfig(hidden=512, heads=8, feed_forward=2048),
        "base": FormNetConfig(),
        "a3": FormNetConfig(hidden=1024, heads=16, feed_forward=4096),
    },
    build=FormNet,
    initialise=initialise,
    find_neighbours=word_neighbours,
    inherits={"hf": text_encoder(FORMNET_FROM_PEER)},
)
