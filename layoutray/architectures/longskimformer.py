"""LongSkimformer, of "Skim-Attention: Learning to Focus via Document Layout", section 3.3.

Findings of EMNLP 2021, arXiv:2109.01078.

Skimformer for long documents: attention is computed once from layout for all text layers, and each token sees only a
sliding window, as in Longformer. Time and memory are linear in length.

    symbol      name here                       meaning
    ℓ           layout_embedding(boxes)         layout embedding of a box (Eq. 2)
    ℓ^c         contextualiser(ℓ, mask)         layout embedding contextualised within the window
    A           skim_attention(ℓ, mask)         attention probabilities of the band, one matrix per head (Eq. 3)
    w           window                          a token sees w/2 tokens to either side
    V^k, W_o    layers[k].value, .output        projections of the text

Departures from the paper, which only refers to Longformer; all follow the authors' released code:
- No token is global. The release has weights for global attention but never makes a token global; this module has
  neither.
- Queries of padding attend to nothing; LayerNorms have RoBERTa's epsilon.
- Layout embeddings go through LayerNorm and dropout, and attention probabilities through dropout once, as in
  Skimformer.

Departure from the release: sequences are padded to a multiple of w/2 instead of w, which changes no result.
"""

from dataclasses import dataclass
from functools import partial

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.architectures import Architecture, SkimConfig, check_ranges
from layoutray.errors import InputError
from layoutray.nn.attention import split_heads
from layoutray.nn.block import EncoderLayer, SharedAttentionLayer
from layoutray.nn.initialise import initialise
from layoutray.nn.layout_embedding import BoxEmbedding
from layoutray.nn.local_attention import LocalSelfAttention, banded_context, banded_probabilities, dense_matrix
from layoutray.tensors import Batch, Encoded

_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class LongSkimformerConfig(SkimConfig):
    """The defaults are the paper's LongSkimformer with the window of the release; the paper does not state its window.

    Attributes:
        head_size: size a of a head's values.
        window: w, even; each token sees w/2 tokens to either side.
    """

    head_size: int = 64
    max_length: int = 2048
    window: int = 512

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"window": 2, "contextualiser_layers": 0})
        super().__post_init__()
        if self.window % 2:
            raise InputError(f"window is {self.window}; it must be even: half of it is on either side")


class LocalSkimAttention(nn.Module):
    """Skim-Attention (Eq. 3) within a sliding window."""

    def __init__(self, config: LongSkimformerConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.reach = config.window // 2
        self.query = nn.Linear(config.layout_hidden, config.heads * config.skim_head_size)
        self.key = nn.Linear(config.layout_hidden, config.heads * config.skim_head_size)
        self.dropout = nn.Dropout(config.attention_dropout)

    def forward(
        self, layout: Float[Tensor, "batch length layout_width"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch heads blocks reach three_reach"]:
        query, key = split_heads(self.query(layout), self.heads), split_heads(self.key(layout), self.heads)
        return self.dropout(banded_probabilities(query, key, mask, self.reach))


class LongSkimformer(nn.Module):
    """The encoder: attention from layout within a window, shared by all text layers. Weights start as RoBERTa's."""

    def __init__(self, config: LongSkimformerConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = _EPSILON
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.segment_embedding = nn.Embedding(1, config.hidden)
        self.text_norm = nn.LayerNorm(config.hidden, eps=_EPSILON)
        self.text_dropout = nn.Dropout(config.dropout)
        self.layout_embedding = BoxEmbedding(config.layout_hidden, config.max_2d, config.dropout, _EPSILON)
        self.contextualiser = nn.ModuleList(
            EncoderLayer(
                LocalSelfAttention(
                    config.layout_hidden, config.contextualiser_heads, config.window // 2, config.attention_dropout
                ),
                config.layout_hidden,
                feed_forward=config.feed_forward,
                dropout=config.dropout,
                epsilon=_EPSILON,
            )
            for _ in range(config.contextualiser_layers)
        )
        self.skim_attention = LocalSkimAttention(config)
        self.layers = nn.ModuleList(SharedAttentionLayer(config, _EPSILON) for _ in range(config.layers))
        initialise(self, config.hidden)

    def forward(self, batch: Batch) -> Encoded:
        attention = self.skim_band(batch)
        states = self.embed_text(batch.input_ids)
        for layer in self.layers:
            states = layer(states, partial(banded_context, attention))
        return Encoded.of_all_tokens(states, batch.mask)

    def skim(self, batch: Batch) -> Float[Tensor, "batch heads length length"]:
        """A as one length × length matrix, for pictures; `forward` does not compute it."""
        length = batch.input_ids.shape[1]
        return dense_matrix(self.skim_band(batch))[..., :length, :length]

    def skim_band(self, batch: Batch) -> Float[Tensor, "batch heads blocks reach three_reach"]:
        """A: attention probabilities of the band, from layout alone."""
        layout = self.layout_embedding(batch.boxes)
        for layer in self.contextualiser:
            layout = layer(layout, batch.mask)
        return self.skim_attention(layout, batch.mask)

    def embed_text(self, input_ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """The text embedding T: word and segment, without positions."""
        return self.text_dropout(self.text_norm(self.word_embedding(input_ids) + self.segment_embedding.weight[0]))


ARCHITECTURE = Architecture(
    name="longskimformer",
    config=LongSkimformerConfig,
    sizes={
        "tiny": LongSkimformerConfig(
            hidden=128,
            layout_hidden=128,
            layers=2,
            heads=4,
            head_size=32,
            skim_head_size=32,
            feed_forward=512,
            window=64,
            contextualiser_layers=1,
            contextualiser_heads=4,
        ),
        "small": LongSkimformerConfig(
            hidden=256, layout_hidden=256, layers=4, heads=4, feed_forward=1024, window=128, contextualiser_heads=4
        ),
        "base": LongSkimformerConfig(),
    },
    build=LongSkimformer,
    initialise=initialise,
)
