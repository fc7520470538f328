"""The graph of words against exhaustive search, and its edges' features against numbers worked out by loops."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks.measure.gabriel import gabriel_edges
from layoutray.document.word_graph import word_neighbours
from layoutray.nn.super_tokens import edge_features
from tests.oracle.cases import files, read


@pytest.mark.parametrize("file", files("formnet/beta_skeleton_points*.json"))
def test_edges_neighbours_and_components(file: Path) -> None:
    for name, case in json.loads(file.read_text(encoding="utf-8"))["cases"].items():
        points = np.array(case["points"])
        edges = gabriel_edges(points)
        assert edges.tolist() == case["edges_open"], name
        neighbours = word_neighbours(np.concatenate([points, points], axis=1))
        assert [[other for other in row if other >= 0] for row in neighbours.tolist()] == case[
            "neighbours_max8_open"
        ], name
        graph = coo_array((np.ones(len(edges)), tuple(edges.T)), (len(points), len(points)))
        assert connected_components(graph)[0] == case["components_open"], name


@pytest.mark.parametrize("file", files("formnet/edge_features*.safetensors"))
def test_features_of_edges(file: Path) -> None:
    case = read(file)
    boxes, pairs = case.tensors["boxes"], case.tensors["pairs"]
    found = edge_features(boxes[None], torch.arange(len(boxes)).repeat(1, len(boxes), 1))[0]
    torch.testing.assert_close(found[pairs[:, 0], pairs[:, 1]], case.tensors["features"], atol=1e-10, rtol=0)
