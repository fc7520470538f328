"""Systems of "Sparsifying Transformer Models with Trainable Representation Pooling" (ACL 2022, arXiv:2009.05169).

The encoders, and the ablation of the scores that decide which tokens are kept.
"""

from collections.abc import Mapping
from typing import Any

FROM_SCRATCH: Mapping[str, Any] = {
    "model.size": "tiny",
    "model.attention_dropout": 0.1,
    "task.writing.label_smoothing": 0.1,
    "task.writing.decoder.heads": 4,
    "task.writing.decoder.feed_forward": 512,
    "task.writing.decoder.copying": "none",
    "tokenizer.vocab_size": 8000,
    "train.learning_rate": 1e-3,
    "train.dropout": "torch",
}
"""Keys of the recipe `finetune-scitldr` for tiny models without a trained start and without copying."""

ENCODERS: Mapping[str, Mapping[str, Any]] = {
    "Vanilla": {"encoder": "vanilla"},
    "Blockwise": {"encoder": "blockwise"},
    "Transpooler": {"encoder": "transpooler"},
    "Pyramidion": {"encoder": "pyramidion"},
}
"""Keys of a recipe's [model]; all other keys are the same."""

SCORERS: Mapping[str, Mapping[str, Any]] = {
    "Transpooler": ENCODERS["Transpooler"],
    **{
        f"{name} scores": {"encoder": "transpooler", "scorer": name}
        for name in ("nonlinear", "random", "index", "embedding")
    },
    "PoWER-like scores": {"encoder": "transpooler", "pooling": "hard", "scorer": "attention"},
    **{f"{name} of neighbours": {"encoder": "transpooler", "pooling": name} for name in ("mean", "max")},
}
"""Keys of a recipe's [model]; Transpooler has linear scores."""

PAPER_ROUGE: Mapping[str, tuple[float, float]] = {
    "Vanilla": (38.2, 14.0),
    "Blockwise": (38.6, 14.1),
    "Transpooler": (39.1, 14.6),
    "nonlinear scores": (38.9, 14.6),
    "random scores": (32.3, 11.4),
    "index scores": (38.2, 13.9),
    "embedding scores": (37.6, 14.0),
    "PoWER-like scores": (36.9, 13.6),
    "mean of neighbours": (38.1, 13.9),
    "max of neighbours": (38.4, 14.2),
}
"""ROUGE-1 and ROUGE-2 on arXiv papers (tables 2 and 4) of 2,048 tokens; with pooling, the decoder attends to 512."""


def decoder_keys(model: Mapping[str, Any], length: int, halvings: int) -> int:
    """Tokens that the decoder attends to, of a text of `length` tokens that pooling halves `halvings` times."""
    return length if model["encoder"] in ("vanilla", "blockwise") else length >> halvings
