"""How many labelled documents a score needs, from scores at several numbers of them."""

from collections.abc import Mapping
from itertools import pairwise


def labels_needed(scores: Mapping[int, float], goal: float) -> float | None:
    """The smallest number of labels at which the score reaches `goal`, on lines between the measured points.

    Args:
        scores: by number of labelled documents.

    Returns:
        The smallest measured number if the goal is reached there; None if it is reached nowhere.
    """
    points = sorted(scores.items())
    if points[0][1] >= goal:
        return float(points[0][0])
    for (fewer, below), (more, above) in pairwise(points):
        if above >= goal:
            return fewer + (more - fewer) * (goal - below) / (above - below)
    return None
