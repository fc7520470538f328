"""The evidence of each version that documents have changed, kept in a file so that it goes on after a restart.

What is kept has no text: the state of the test, checksums of words of recent documents, and of the documents that are
the reference of a version whose checkpoint has none, signals and checksums of words.
"""

import json
import logging
import threading
from dataclasses import asdict
from pathlib import Path

from layoutray.document.signals import Observed, Reference
from layoutray.metrics.drift import DriftTest
from layoutray.review.drift import DriftMonitor
from layoutray.serving.model import ModelDescription
from layoutray.store.database import DatabaseError, FileKind, executed, open_database

_log = logging.getLogger(__name__)
_FILE = FileKind(
    name="drift file",
    application_id=0x6C726466,  # "lrdf"
    version=1,
    settings=("synchronous = NORMAL",),
    create=executed("""
        CREATE TABLE first (
            number INTEGER PRIMARY KEY, model TEXT NOT NULL, version TEXT NOT NULL, content TEXT NOT NULL
        );
        CREATE TABLE tests (
            model TEXT NOT NULL, version TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (model, version)
        )
    """),
)


class DriftFile:
    """The monitor of each version. Threads take turns.

    Args:
        file: keeps them; empty: they end with the process.

    Raises:
        InputError: see `open_database`.
    """

    def __init__(self, file: str = "") -> None:
        self._database = open_database(Path(file), _FILE, create=True) if file else None
        self._monitors: dict[tuple[str, str], DriftMonitor] = {}
        self._turn = threading.Lock()

    def add(self, document: Observed, model: ModelDescription) -> DriftTest:
        """Add an answered document to those of its version. Returns what the test then shows.

        A document is stored before its answer is sent. If the file cannot be used, the log says so, and the evidence
        goes on in memory.
        """
        version = model.model_id, model.model_version
        with self._turn:
            try:
                if version not in self._monitors:
                    monitor = DriftMonitor(Reference.from_json(model.reference) if model.reference else None)
                    self._monitors[version] = monitor
                    self._restore(version, monitor)
                monitor = self._monitors[version]
                is_first = monitor.add(document) is None
                self._keep(version, monitor, document if is_first else None)
            except DatabaseError as error:
                _log.error("the drift file cannot be used: %s", error)
            return self._monitors[version].test

    def forget(self, version: tuple[str, str]) -> None:
        """Free the memory of a version; the file keeps it."""
        with self._turn:
            self._monitors.pop(version, None)

    def _restore(self, version: tuple[str, str], monitor: DriftMonitor) -> None:
        if self._database is None:
            return
        if monitor.reference is None:
            for row in self._database.rows(_FIRST, *version):
                monitor.add(Observed.from_json(json.loads(row["content"])))
        for row in self._database.rows("SELECT content FROM tests WHERE (model, version) = (?, ?)", *version):
            monitor.restore(json.loads(row["content"]))

    def _keep(self, version: tuple[str, str], monitor: DriftMonitor, first: Observed | None) -> None:
        if self._database is None:
            return
        with self._database.transaction() as database:
            if first:
                row = (*version, json.dumps(asdict(first)))
                database.exec_driver_sql("INSERT INTO first (model, version, content) VALUES (?, ?, ?)", row)
            else:
                row = (*version, json.dumps(monitor.to_json()))
                database.exec_driver_sql("INSERT OR REPLACE INTO tests VALUES (?, ?, ?)", row)


_FIRST = "SELECT content FROM first WHERE (model, version) = (?, ?) ORDER BY number"
