"""Names of metrics in MLflow, whose UI sorts them, and draws a section for what stands before the last slash.

| section | content |
| --- | --- |
| `data` | the number of training pages |
| `dev` | the dev split during training, over steps |
| `dev best` | the dev split, of the checkpoint that was kept |
| `speed` | tokens a second, MFU, minutes |
| `test rapidocr` | the checkpoint on a split whose words come from this word source |
| `train` | loss, norm of the gradient, and learning rate |

A section with ` by name` at its end has the metrics of single fields or types, or of compared recipes.
"""

from collections.abc import Iterable

MINUTES = "speed/minutes"
"""Time of the training, over all its interruptions."""
PAGES = "data/pages"
"""Number of pages of the training split."""
BEST = "dev best"
"""Section of the kept checkpoint's metrics on dev."""

_SPEED = ("tokens_per_second", "mfu")
_HEADLINES = ("field_f1", "f1", "accepted_at_99", "rouge1", "perplexity")
"""Metrics that say how good a checkpoint is, the most important one first."""


def of_training(name: str) -> str:
    """The name of a metric of `history.jsonl`, such as `loss` or `dev.f1`."""
    section, dot, metric = name.partition(".")
    if dot:
        return _in_section(section, metric)
    return f"{'speed' if name in _SPEED else 'train'}/{name}"


def of_checkpoint(name: str) -> str:
    """The name of a metric that the kept checkpoint has, such as `dev.f1`."""
    return _in_section(BEST, name.removeprefix("dev."))


def of_evaluation(pages: str, words: str, name: str) -> str:
    """The name of a metric of `layoutray evaluate`.

    Args:
        pages: such as `test`.
        words: the word sources of these pages.
    """
    return _in_section(f"{pages} {words}".strip(), name)


def headlines(names: Iterable[str]) -> list[str]:
    """Those of `names` that say how good checkpoints are, and at what cost, in the order of a table's columns."""
    known = sorted(names)
    good = [
        name
        for section in ("test", BEST)
        for metric in _HEADLINES
        for name in known
        if name.startswith(section) and name.endswith(f"/{metric}")
    ]
    cost = [name for name in (MINUTES, "speed/tokens_per_second", "speed/mfu", PAGES) if name in known]
    return good + cost


def _in_section(section: str, metric: str) -> str:
    return f"{section} by name/{metric}" if "." in metric else f"{section}/{metric}"
