"""Systems of tables 2 to 4 of the Skim-Attention paper (arXiv:2109.01078), and their attention cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Model = Mapping[str, Any]
"""Keys of a recipe's [model]."""

_NO_CONTEXT = {"arch": "skimformer", "contextualiser_layers": 0}

PRETRAINED: Mapping[str, Model] = {
    "BERT": {"arch": "hf", "model_type": "bert"},
    "LayoutLM": {"arch": "hf", "model_type": "layoutlm"},
    "Skimformer": {"arch": "skimformer"},
    "Longformer": {"arch": "hf", "model_type": "longformer"},
    "LongSkimformer": {"arch": "longskimformer"},
    "Layout": _NO_CONTEXT,
    "1D position": _NO_CONTEXT | {"layout": "1d"},
    "Uniform layout": _NO_CONTEXT | {"layout": "uniform"},
    "Degraded layout": _NO_CONTEXT | {"layout": "degraded"},
}
"""Table 2 and the ablations of table 3; the fifth row of table 3 (contextualised layout) is Skimformer."""

LONG = frozenset({"Longformer", "LongSkimformer"})

PAPER_PERPLEXITY: Mapping[str, float] = {
    "BERT": 357.11,
    "LayoutLM": 45.86,
    "Skimformer": 33.77,
    "Longformer": 333.28,
    "LongSkimformer": 32.02,
    "Layout": 36.41,
    "1D position": 54.39,
    "Uniform layout": 421.97,
    "Degraded layout": 103.39,
}

RATIOS = (
    ("Skimformer", "LayoutLM"),
    ("Skimformer", "BERT"),
    ("LongSkimformer", "Longformer"),
    ("Degraded layout", "Skimformer"),
    ("1D position", "Skimformer"),
)
"""Pairs of systems whose ratios of perplexity the paper's argument uses."""


@dataclass(frozen=True, slots=True)
class FineTunedSystem:
    """A row of table 4: layout labels of DocBank.

    Attributes:
        model: the fine-tuned model.
        starts: rows of table 2 whose weights it starts from.
        attentions: which attention matrices it computes: one for all layers (`skim`), one in every layer (`full`), or
            one in every layer over k keys (`masked`).
        paper: recall, precision and F1 in percent as printed.
    """

    model: Model
    starts: tuple[str, ...]
    attentions: tuple[Literal["skim", "full", "masked"], ...]
    paper: tuple[float, float, float]


TUNED: Mapping[str, FineTunedSystem] = {
    "BERT": FineTunedSystem(PRETRAINED["BERT"], ("BERT",), ("full",), (67.21, 59.28, 60.98)),
    "LayoutLM": FineTunedSystem(PRETRAINED["LayoutLM"], ("LayoutLM",), ("full",), (81.60, 77.96, 79.28)),
    "Skimformer": FineTunedSystem(PRETRAINED["Skimformer"], ("Skimformer",), ("skim",), (78.80, 74.35, 75.86)),
    "BERT + SkimEmbeddings": FineTunedSystem(
        {"arch": "skim_embeddings"}, ("BERT", "Skimformer"), ("full",), (82.42, 77.06, 79.16)
    ),
    "BERT + SkimmingMask": FineTunedSystem(
        {"arch": "skimming_mask", "core": "bert"}, ("BERT", "Skimformer"), ("skim", "masked"), (72.32, 64.39, 67.36)
    ),
    "LayoutLM + SkimmingMask": FineTunedSystem(
        {"arch": "skimming_mask", "core": "layoutlm"},
        ("LayoutLM", "Skimformer"),
        ("skim", "masked"),
        (81.15, 78.30, 79.26),
    ),
    "Longformer": FineTunedSystem(PRETRAINED["Longformer"], ("Longformer",), ("full",), (74.88, 69.29, 71.17)),
    "LongSkimformer": FineTunedSystem(
        PRETRAINED["LongSkimformer"], ("LongSkimformer",), ("skim",), (81.22, 73.45, 76.61)
    ),
}


def attention_count(row: FineTunedSystem, layers: int, contextualiser_layers: int) -> str:
    """Attention matrices of a forward pass: those of text layers, and those of skimming with its contextualiser."""
    counts = {"skim": f"{1 + contextualiser_layers} skimming", "full": f"{layers}", "masked": f"{layers} masked"}
    return " + ".join(counts[kind] for kind in row.attentions)


def compute_ratio(row: FineTunedSystem, layers: int, contextualiser_layers: int, *, length: int, top_k: int) -> float:
    """Attention scores as a share of those of `layers` full matrices, e.g. (3·512² + 12·128²)/(12·512²) for a mask.

    A mask of k keys per query counts as k² scores, as in the paper, although L·k scores remain.
    """
    matrices = {"skim": 1 + contextualiser_layers, "full": layers, "masked": layers * (top_k / length) ** 2}
    return sum(matrices[kind] for kind in row.attentions) / layers
