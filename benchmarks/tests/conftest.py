"""Tests of benchmarks share the Ray of the other tests."""

import jaxtyping
import pytest

from tests.conftest import data_root  # noqa: F401  (a fixture)

# As in tests/conftest.py.
_PARTS = ("lsh_attention", "efficient_attention", "funnel", "graph_embedding", "word_bitmaps")
jaxtyping.install_import_hook([f"benchmarks.plugins.{part}" for part in _PARTS], "beartype.beartype")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.cluster.shared_ray")
