"""Parameter names of the Skim-Attention release, and of the encoders that its models start from, <-> ours.

In tables of the release, ours are an encoder and a head within a task model. In the others, both sides are encoders.
"""

from dataclasses import replace

from layoutray.nn.weight_names import NameTable
from layoutray.nn.weight_names.bert import (
    BERT_HEAD,
    CLASSIFIER,
    KEPT_TWICE,
    LAYER,
    ROBERTA_HEAD,
    TEXT_LAYER,
    Pairs,
    bert,
    prefixed,
)

_SIDES = (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height"))
_TABLES = tuple((f"{name}_position_embeddings", side) for name, side in _SIDES)
_BOXES = prefixed("two_dim_pos_embeddings.", "layout_embedding.", (*_TABLES, ("LayerNorm", "norm")))
_SKIM = tuple((f"skim_attention.{name}", f"skim_attention.{name}") for name in ("query", "key"))
_CONTEXTUALISER = prefixed("layout_encoder.layer.{}.", "contextualiser.layers.{}.", LAYER)
_TEXT = (
    ("text_embeddings.word_embeddings", "word_embedding"),
    ("text_embeddings.token_type_embeddings", "segment_embedding"),
    ("text_embeddings.LayerNorm", "text_norm"),
    *prefixed("encoder.layer.{}.", "layers.{}.", TEXT_LAYER),
)


def _skimformer(layout: Pairs) -> Pairs:
    parts = (*layout, *_SKIM, *_CONTEXTUALISER, *_TEXT)
    return (*prefixed("skimformer.", "encoder.", parts), *BERT_HEAD, CLASSIFIER)


SKIMFORMER = NameTable(_skimformer(_BOXES), dropped=KEPT_TWICE)
"""For models with boxes."""
DEGRADED = replace(
    SKIMFORMER,
    dropped=(*KEPT_TWICE, *(f"skimformer.two_dim_pos_embeddings.{side}_position_embeddings" for side in "wh")),
)
"""For the degraded model; the release keeps its unused tables of widths and heights."""
POSITIONS = NameTable(
    _skimformer(
        prefixed(
            "one_dim_pos_embeddings.", "layout_embedding.", (("position_embeddings", "position"), ("LayerNorm", "norm"))
        )
    ),
    dropped=(*KEPT_TWICE, "skimformer.layout_encoder"),
)
"""For the model with 1-D positions; the release does not use its contextualiser."""

LONGSKIMFORMER = NameTable(
    (
        *prefixed(
            "longskimformer.",
            "encoder.",
            (*_BOXES, *_SKIM, *prefixed("layout_encoder.layer.{}.", "contextualiser.{}.", LAYER), *_TEXT),
        ),
        *ROBERTA_HEAD,
        CLASSIFIER,
    ),
    dropped=(
        *KEPT_TWICE,
        # Weights of global attention, which no token uses.
        *(f"longskimformer.skim_attention.{name}_global" for name in ("query", "key")),
        *(
            f"longskimformer.layout_encoder.layer.{{}}.attention.self.{name}_global"
            for name in ("query", "key", "value")
        ),
        "longskimformer.encoder.layer.{}.attention.self.value_global",
    ),
)

SKIM_EMBEDDINGS = NameTable(
    (
        *bert("bert_with_skim_embed.", "encoder."),
        *prefixed("bert_with_skim_embed.embeddings.", "encoder.boxes.tables.", _TABLES),
        *(
            (f"bert_with_skim_embed.embeddings.{name}_position_projection", f"encoder.boxes.projections.{side}")
            for name, side in _SIDES
        ),
        CLASSIFIER,
    ),
    dropped=("bert_with_skim_embed.embeddings.position_ids",),
)

_TEXT_OF_SKIMFORMER = ("word_embedding", "segment_embedding", "text_norm", "layers")

SKIM_EMBEDDINGS_FROM_SKIMFORMER = NameTable(
    tuple((f"layout_embedding.{side}", f"boxes.tables.{side}") for _, side in _SIDES),
    dropped=("layout_embedding.norm", "contextualiser", "skim_attention", *_TEXT_OF_SKIMFORMER),
)
"""From our Skimformer, of which only the coordinate tables are used."""


def _core(theirs: str, ours: str) -> Pairs:
    """The pairs of BERT and of LayoutLM's coordinate tables, which BERT does not have."""
    return (*bert(theirs, ours), *prefixed(f"{theirs}embeddings.", f"{ours}boxes.", _TABLES))


SKIMMING_MASK = NameTable(
    (
        *_core("skimming_mask_model.", "encoder."),
        *prefixed("skimming_mask_model.", "encoder.skimmer.", (*_BOXES, *_SKIM, *_CONTEXTUALISER)),
        CLASSIFIER,
    ),
    dropped=("skimming_mask_model.embeddings.position_ids",),
)
SKIMMING_MASK_FROM_CORE = NameTable(_core("model.", ""))
"""From our `hf` architecture with a BERT or LayoutLM."""
SKIMMING_MASK_FROM_SKIMFORMER = NameTable(
    tuple((part, f"skimmer.{part}") for part in ("layout_embedding", "contextualiser", "skim_attention")),
    dropped=_TEXT_OF_SKIMFORMER,
)
"""From our Skimformer, of which the parts that compute its attention are used."""

SKIMFORMER_FROM_PEER = NameTable(
    (
        ("model.embeddings.word_embeddings", "word_embedding"),
        ("model.embeddings.token_type_embeddings", "segment_embedding"),
        ("model.embeddings.LayerNorm", "text_norm"),
        *prefixed("model.encoder.layer.{}.", "layers.{}.", TEXT_LAYER),
    ),
    dropped=(
        "model.embeddings.position_embeddings",
        *(f"model.encoder.layer.{{}}.attention.self.{name}" for name in ("query", "key")),
    ),
)
"""From our `hf` architecture with a BERT, without what its attention is computed from."""
