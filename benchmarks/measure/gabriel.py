"""The whole Gabriel graph of points, of which the word graph keeps the nearest neighbours."""

import numpy as np

from layoutray.document.word_graph import Pairs, Points, neighbour_pairs


def gabriel_edges(points: Points) -> Pairs:
    """All edges, sorted, smaller index first. Points with equal coordinates are neighbours of each other.

    Raises:
        InputError: when the points extend over more than 2²⁵, where distances would not be exact.
    """
    point, neighbour = neighbour_pairs(points, len(points))
    edges = np.stack([point, neighbour], axis=1)[point < neighbour]
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
