"""BERT + SkimEmbeddings, of "Skim-Attention: Learning to Focus via Document Layout", section 4.2.

Findings of EMNLP 2021, arXiv:2109.01078.

BERT with layout in its input: the coordinate tables of a trained Skimformer are projected to BERT's width and added to
its embeddings. Attention is BERT's. The tables start from a trained Skimformer, the projections are new, and the rest
starts from a trained BERT.

    symbol         name here                          meaning
    X, Y, Wd, Ht   tables.x, .y, .width, .height      Skimformer's coordinate tables (Eq. 2)
    P_x, P_y       projections.x, .y                  linear maps with bias, from the tables' width e to BERT's d
    P_w, P_h       projections.width, .height

Departures from the paper, which only states that the embeddings are added; all follow the authors' released code:
- P_x and P_y are used for both corners of a box, and their biases are therefore added twice.
- Skimformer's LayerNorm over the layout, and its contextualiser, are not used.
`start = "gentle"`, which is ours, is for a training that has a trained BERT but no trained Skimformer.
"""

from dataclasses import dataclass
from typing import Literal, cast

from jaxtyping import Float
from torch import Tensor, nn

from layoutray.architectures import Architecture, EncoderConfig, Parent, check_heads, check_ranges
from layoutray.nn.attention import VisibleKeys
from layoutray.nn.block import LAYER_NORM_EPSILON, bert_layers, packed_layers, packed_layers_of_targets
from layoutray.nn.gentle import scale_down
from layoutray.nn.initialise import initialise
from layoutray.nn.weight_names.bert import FROM_PEER
from layoutray.nn.weight_names.skim_attention import SKIM_EMBEDDINGS_FROM_SKIMFORMER
from layoutray.tensors import BOX_GRID, Batch, Encoded


@dataclass(frozen=True, kw_only=True)
class SkimEmbeddingsConfig(EncoderConfig):
    """The defaults are BERT-base with the paper's Skimformer.

    Attributes:
        start: `paper` draws tables as BERT's; `gentle` takes a hundredth of that, so that the new layout term is small
            beside trained text embeddings.
        layout_hidden: width e of Skimformer's tables.
        max_2d: size of the coordinate tables, above `BOX_GRID`.
    """

    start: Literal["paper", "gentle"] = "paper"
    layout_hidden: int = 768
    max_2d: int = 1024
    segments: int = 2

    def __post_init__(self) -> None:
        check_ranges(self, smallest={"max_2d": BOX_GRID + 1})
        check_heads(self, "hidden", "heads")


class ProjectedBoxes(nn.Module):
    """P_x X[x0] + P_y Y[y0] + P_x X[x1] + P_y Y[y1] + P_h Ht[y1-y0] + P_w Wd[x1-x0]."""

    def __init__(self, config: SkimEmbeddingsConfig) -> None:
        super().__init__()
        sides = ("x", "y", "width", "height")
        self.tables = nn.ModuleDict({side: nn.Embedding(config.max_2d, config.layout_hidden) for side in sides})
        self.projections = nn.ModuleDict({side: nn.Linear(config.layout_hidden, config.hidden) for side in sides})

    def forward(self, boxes: Tensor) -> Float[Tensor, "batch length width"]:
        x0, y0, x1, y1 = boxes.unbind(-1)
        corners = self._project("x", x0) + self._project("y", y0) + self._project("x", x1) + self._project("y", y1)
        return corners + self._project("height", y1 - y0) + self._project("width", x1 - x0)

    def _project(self, side: str, coordinate: Tensor) -> Tensor:
        return self.projections[side](self.tables[side](coordinate))


class SkimEmbeddings(nn.Module):
    """BERT with projected box embeddings in its input. Weights start as BERT's, coordinate tables as `start` says."""

    def __init__(self, config: SkimEmbeddingsConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = LAYER_NORM_EPSILON
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.position_embedding = nn.Embedding(config.max_length, config.hidden)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.boxes = ProjectedBoxes(config)
        self.norm = nn.LayerNorm(config.hidden, eps=LAYER_NORM_EPSILON)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = bert_layers(config)
        initialise(self, config.hidden)
        if config.start == "gentle":
            scale_down(cast(nn.Embedding, table) for table in self.boxes.tables.values())

    def forward(self, batch: Batch) -> Encoded:
        states = self.embed(batch)
        if batch.packing is not None:
            tokens = batch.packing.tokens
            states = tokens.unpack(packed_layers(self.layers, tokens.pack(states), batch.packing))
            return Encoded.of_all_tokens(states, batch.mask)
        scorer = VisibleKeys.of_all_queries(batch.mask)
        for layer in self.layers:
            states = layer(states, scorer)
        return Encoded.of_all_tokens(states, batch.mask)

    def target_states(self, batch: Batch) -> Float[Tensor, "targets width"]:
        """See `layoutray.tensors.PacksTokens`."""
        assert batch.packing is not None
        return packed_layers_of_targets(self.layers, batch.packing.tokens.pack(self.embed(batch)), batch.packing)

    def embed(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """LN(word + position + segment + projected box), with dropout."""
        text = self.word_embedding(batch.input_ids) + self.position_embedding.weight[: batch.input_ids.shape[1]]
        return self.dropout(self.norm(text + self.segment_embedding.weight[0] + self.boxes(batch.boxes)))


ARCHITECTURE = Architecture(
    name="skim_embeddings",
    config=SkimEmbeddingsConfig,
    sizes={
        "tiny": SkimEmbeddingsConfig(hidden=128, layout_hidden=128, layers=2, heads=4, feed_forward=512),
        "small": SkimEmbeddingsConfig(hidden=256, layout_hidden=256, layers=4, heads=4, feed_forward=1024),
        "minilm": SkimEmbeddingsConfig(start="gentle", hidden=384, layout_hidden=384, layers=6, feed_forward=1536),
        "base": SkimEmbeddingsConfig(),
    },
    build=SkimEmbeddings,
    initialise=initialise,
    inherits={
        "skimformer": Parent(SKIM_EMBEDDINGS_FROM_SKIMFORMER, fixed={"layout": "boxes"}),
        "hf": Parent(
            FROM_PEER,
            fixed={"model_type": "bert", "norm_epsilon": LAYER_NORM_EPSILON},
            shared={"layers": "layers", "heads": "heads"},
        ),
    },
)
