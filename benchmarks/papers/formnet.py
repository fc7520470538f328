"""Systems of the ablation in the FormNet paper (table 2 of arXiv:2203.08411), and two peers."""

from collections.abc import Mapping
from typing import Any

Model = Mapping[str, Any]
"""Keys of a recipe's [model]."""

SYSTEMS: Mapping[str, Model] = {
    "ETC": {"arch": "formnet", "attention": "plain", "graph_layers": 0},
    "ETC + GCN": {"arch": "formnet", "attention": "plain"},
    "ETC + Rich": {"arch": "formnet", "graph_layers": 0},
    "FormNet": {"arch": "formnet"},
    "LayoutLM": {"arch": "hf", "model_type": "layoutlm"},
    "LiLT": {"arch": "hf", "model_type": "lilt"},
}
"""In the order of the paper's F1; the peers come last."""

PAPER_F1: Mapping[str, Mapping[str, float]] = {
    "funsd": {"ETC": 65.90, "ETC + GCN": 79.37, "ETC + Rich": 82.22, "FormNet": 84.53},
    "cord": {"ETC": 91.57, "ETC + GCN": 95.81, "ETC + Rich": 96.03, "FormNet": 96.87},
}
"""Entity F1 of FormNet-A1 in percent as printed in the paper; pretrained on 700,000 forms."""
