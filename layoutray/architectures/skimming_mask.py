"""SkimmingMask, of "Skim-Attention: Learning to Focus via Document Layout", section 3.4.

Findings of EMNLP 2021, arXiv:2109.01078.

The attention of a trained Skimformer selects which tokens each token of a BERT or LayoutLM may attend to.
Skim-Attention is computed once; in the text layers, each query and head sees only its k keys of highest skim-attention.
The skimmer starts from a trained Skimformer, the rest from a trained BERT or LayoutLM.

    symbol      name here                       meaning
    ℓ           skimmer.layout_embedding        layout embedding, as in Skimformer
    ℓ^c         skimmer.contextualiser          contextualised layout embedding, as in Skimformer
    A           skimmer(boxes, mask)            skim-attention probabilities
    k           top_k                           number of tokens that each token attends to
    M           skimming_mask(A, mask, k)       visible keys, one matrix per head

Departures from the paper; the first follows the authors' released code:
- The k most attended keys are selected per head; the paper describes one matrix.
- There is no dropout on A in training; in the release, it randomly removes about a tenth of the best keys from the
  mask.
- The skimmer gets no gradient and is not trained; in the release it gets none either, although it is left trainable.
- `attention = "gathered"` computes only the scores that the mask keeps, with the same result. The paper counts this
  saving, but its code computes whole matrices.
- If k exceeds the length, all tokens are visible; the release fails. Of two equally attended keys, the earlier one is
  selected; in the release the choice is undefined.
- The contextualiser does not see padding (`contextualiser_mask`, as in Skimformer).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from layoutray.architectures import Architecture, Parent, SkimConfig, check_heads
from layoutray.nn.attention import VisibleKeys
from layoutray.nn.block import LAYER_NORM_EPSILON, bert_layers
from layoutray.nn.gathered_attention import key_lists
from layoutray.nn.initialise import initialise
from layoutray.nn.layout_embedding import BoxEmbedding, BoxTables
from layoutray.nn.skim_attention import Contextualiser, ContextualiserMask, SkimAttention
from layoutray.nn.weight_names.skim_attention import SKIMMING_MASK_FROM_CORE, SKIMMING_MASK_FROM_SKIMFORMER
from layoutray.tensors import Batch, Encoded


@dataclass(frozen=True, kw_only=True)
class SkimmingMaskConfig(SkimConfig):
    """The defaults are BERT-base with the paper's Skimformer as skimmer and the paper's k.

    Attributes:
        core: embeddings of the text layers: `bert`, or `layoutlm`, which adds coordinate tables.
        top_k: number of tokens that each token attends to.
        attention: `dense` computes all scores and masks most; `gathered` computes those of the keys that a block of
            queries sees.
        block: number of queries that share a list of keys in `gathered`.
        contextualiser_mask: `masked` hides padding from the contextualiser; `reference_parity` does not, as in the
            release.
    """

    core: Literal["bert", "layoutlm"] = "bert"
    top_k: int = 128
    attention: Literal["dense", "gathered"] = "dense"
    block: int = 64
    segments: int = 2
    contextualiser_mask: ContextualiserMask = "masked"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self, "hidden", "heads")


class Skimmer(nn.Module):
    """Maps boxes to skim-attention probabilities. Trained in a Skimformer; it has no gradient and no dropout here."""

    def __init__(self, config: SkimmingMaskConfig) -> None:
        super().__init__()
        self.layout_embedding = BoxEmbedding(config.layout_hidden, config.max_2d, 0.0)
        self.contextualiser = Contextualiser(config, 0.0, 0.0)
        self.skim_attention = SkimAttention(config, 0.0)
        self.requires_grad_(False)

    @torch.no_grad()
    def forward(
        self, boxes: Int[Tensor, "batch length 4"], mask: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch heads length length"]:
        return self.skim_attention(self.contextualiser(self.layout_embedding(boxes), mask), mask)


class SkimmingMask(nn.Module):
    """BERT or LayoutLM that attends only to the keys selected by Skim-Attention.

    All weights start as BERT's, those of the skimmer too.
    """

    def __init__(self, config: SkimmingMaskConfig, *, vocab_size: int, pad_id: int) -> None:
        super().__init__()
        self.width = config.hidden
        self.max_length = config.max_length
        self.norm_epsilon = LAYER_NORM_EPSILON
        self.top_k = config.top_k
        self.block = config.block if config.attention == "gathered" else 0
        self.skimmer = Skimmer(config)
        self.word_embedding = nn.Embedding(vocab_size, config.hidden, padding_idx=pad_id)
        self.position_embedding = nn.Embedding(config.max_length, config.hidden)
        self.segment_embedding = nn.Embedding(config.segments, config.hidden)
        self.boxes = BoxTables(config.hidden, config.max_2d) if config.core == "layoutlm" else None
        self.norm = nn.LayerNorm(config.hidden, eps=LAYER_NORM_EPSILON)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = bert_layers(config)
        initialise(self, config.hidden)

    def forward(self, batch: Batch) -> Encoded:
        seen = skimming_mask(self.skim(batch), batch.mask, self.top_k)
        scorer = key_lists(seen, batch.mask, self.block) if self.block else VisibleKeys(seen)
        states = self.embed(batch)
        for layer in self.layers:
            states = layer(states, scorer)
        return Encoded.of_all_tokens(states, batch.mask)

    def skim(self, batch: Batch) -> Float[Tensor, "batch heads length length"]:
        """A: the skimmer's attention probabilities, before selection of the best keys."""
        return self.skimmer(batch.boxes, batch.mask)

    def embed(self, batch: Batch) -> Float[Tensor, "batch length width"]:
        """LN(word + position + segment), with box in the sum if the core is LayoutLM; with dropout."""
        text = self.word_embedding(batch.input_ids) + self.position_embedding.weight[: batch.input_ids.shape[1]]
        text = text + self.segment_embedding.weight[0]
        return self.dropout(self.norm(text if self.boxes is None else text + self.boxes(batch.boxes)))


def skimming_mask(
    attention: Float[Tensor, "batch heads length length"], mask: Bool[Tensor, "batch length"], top_k: int
) -> Bool[Tensor, "batch heads length length"]:
    """True on those of the `top_k` most attended keys of each query and head that are real tokens.

    Of equally attended keys, the earlier ones are selected.
    """
    best = attention.sort(dim=-1, descending=True, stable=True).indices[..., :top_k]
    return torch.zeros_like(attention, dtype=torch.bool).scatter_(-1, best, True) & mask[:, None, None, :]


ARCHITECTURE = Architecture(
    name="skimming_mask",
    config=SkimmingMaskConfig,
    sizes={
        "tiny": SkimmingMaskConfig(
            hidden=128,
            layers=2,
            heads=4,
            feed_forward=512,
            layout_hidden=128,
            skim_head_size=32,
            contextualiser_layers=1,
            contextualiser_heads=4,
        ),
        "small": SkimmingMaskConfig(
            hidden=256, layers=4, heads=4, feed_forward=1024, layout_hidden=256, contextualiser_heads=4
        ),
        "minilm": SkimmingMaskConfig(hidden=384, layers=6, feed_forward=1536, layout_hidden=384, skim_head_size=32),
        "base": SkimmingMaskConfig(),
    },
    build=SkimmingMask,
    initialise=initialise,
    inherits={
        "skimformer": Parent(
            SKIMMING_MASK_FROM_SKIMFORMER,
            fixed={"layout": "boxes"},
            shared={name: name for name in ("heads", "contextualiser_layers", "contextualiser_heads")},
        ),
        "hf": Parent(
            SKIMMING_MASK_FROM_CORE,
            fixed={"norm_epsilon": LAYER_NORM_EPSILON},
            shared={"model_type": "core", "layers": "layers", "heads": "heads"},
        ),
    },
)
