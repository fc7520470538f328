"""Tests of benchmarks share the Ray of the other tests."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.cluster.shared_ray")
