"""Confusion matrix of entity types."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

OUTSIDE = "O"
"""Type of words outside every entity."""


def confusion(counts: Mapping[tuple[str, str], int], types: Sequence[str]) -> Figure:
    """Matrix of `counts`, words by (true type, predicted type). A cell's shade is the share of the true type's words.

    Args:
        counts: may omit pairs that do not occur.
        types: entity types in display order; `O` is always last, whether `types` contains it or not.
    """
    names = [*(name for name in types if name != OUTSIDE), OUTSIDE]
    words = np.array([[counts.get((truth, predicted), 0) for predicted in names] for truth in names])
    side = max(4.5, 2.2 + 0.62 * len(names))
    figure = Figure(figsize=(side + 1.0, side), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    shares = words / np.maximum(words.sum(axis=1, keepdims=True), 1)
    picture = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for row, column in np.argwhere(words > 0):
        ink = "white" if shares[row, column] > 0.55 else "#212529"
        axes.text(column, row, f"{words[row, column]:,}", ha="center", va="center", color=ink, fontsize=9)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("predicted type")
    axes.set_ylabel("true type")
    axes.set_xticks(np.arange(len(names) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    figure.colorbar(picture, ax=axes, shrink=0.7, label="share of the words of the true type")
    return figure
