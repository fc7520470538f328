"""A pytest plugin: tests share one Ray, because each start of a Ray takes more than ten seconds.

A test requests `cluster` when it harms no process, or `cluster_to_harm` when it kills workers. Each of the two is
started once, on first use, and stopped before the first test that does not request it: a test without a request has no
Ray and may start its own. For that the tests are run in the order `cluster`, `cluster_to_harm`, others.

`cluster` counts one core, so that by default a job starts one worker process: the start of a process takes longer than
the work of most tests. A test of several workers gives their number. `cluster_to_harm` counts two cores.
Processes report their metrics every two seconds.

The processes of both know the address of an S3 server with the empty bucket `scans`.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

_CORES = {"cluster": 1, "cluster_to_harm": 2}
"""Cores of each Ray, in the order of their starts."""
_ORDER = tuple(_CORES)


class SharedRay:
    """At most one Ray, known by the name of the fixture that requested it."""

    def __init__(self) -> None:
        self._name = ""
        self._running = ExitStack()

    def start(self, name: str) -> None:
        """Start the Ray of fixture `name`, unless it is the one that runs."""
        from benchmarks.measure.object_store import object_store

        if name != self._name:
            self.stop_unless_in([])
            with ExitStack() as starting:
                starting.enter_context(object_store("scans"))
                starting.enter_context(pytest.MonkeyPatch.context()).setenv("RAY_metrics_report_interval_ms", "2000")
                starting.enter_context(_connected(_CORES[name]))
                self._running = starting.pop_all()
            self._name = name

    def stop_unless_in(self, fixtures: list[str]) -> None:
        """Stop Ray, and Serve on it, unless one of `fixtures` is its name."""
        if not self._name or self._name in fixtures:
            return
        from ray import serve

        self._name = ""
        # Serve keeps its client per job id. Without this, the first job of the next Ray gets the client of this one.
        serve.shutdown()
        self._running.close()


def _connected(cores: int, tries: int = 4) -> ExitStack:
    """A connection to a new Ray. Ray gives a node half a minute to start, too little on a busy machine."""
    from layoutray.cluster.connect import connect
    from layoutray.errors import ClusterError

    with ExitStack() as starting:
        try:
            starting.enter_context(connect(cores=cores))
        except ClusterError:
            if tries == 1:
                raise
            return _connected(cores, tries - 1)
        return starting.pop_all()


_ray = SharedRay()


@pytest.fixture(scope="session")
def shared_ray() -> Iterator[SharedRay]:
    """The Ray of `cluster` or of `cluster_to_harm`; it is stopped after the last test."""
    yield _ray
    _ray.stop_unless_in([])


@pytest.fixture(scope="module")
def cluster(shared_ray: SharedRay) -> None:
    """A connection to the Ray of all tests that harm no process."""
    shared_ray.start("cluster")


@pytest.fixture(scope="module")
def cluster_to_harm(shared_ray: SharedRay) -> None:
    """A connection to the Ray of all tests that kill workers."""
    shared_ray.start("cluster_to_harm")


@pytest.fixture(scope="session")
def serve_port() -> int:
    """The port of Serve on `cluster`; a running Serve cannot change its port."""
    return free_port()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests that share a Ray; those that use Serve are the last of them, since Serve keeps a core busy."""
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> tuple[int, bool]:
    fixtures = _fixtures(item)
    place = next((number for number, name in enumerate(_ORDER) if name in fixtures), len(_ORDER))
    return place, "serve_port" in fixtures


def _fixtures(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop the shared Ray before a test that does not request it."""
    _ray.stop_unless_in(_fixtures(item))
