"""The audit log of the endpoint: one line of JSON for each request for a document, also for refused ones.

An admin's request for a job of another key has a line too. A line says who sent what, and what became of it. It has no
content of any document, and no file name.
"""

import asyncio
import json
import logging
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial

from starlette.requests import ClientDisconnect

from layoutray.errors import ApiError

_log = logging.getLogger(__name__)
_LONGEST = 256
"""Characters of a value: paths and names of models are as a client sends them."""


@dataclass(slots=True, kw_only=True)
class AuditRecord:
    """One line. The request fills in what becomes known.

    Attributes:
        time: of the request, in UTC.
        key: name of the key; empty without one.
        request_id: its id in the log of requests; empty for a document of a job.
        document: SHA-256 of the document; empty when it was not received.
        pages: of the document; 0 when it was not opened.
        model: the model that was asked, as answers state it.
        milliseconds: from the request to the answer.
        outcome: `status` of the answer, or the error code; `read`, `cancelled` or `deleted` for a job of another key.
        owner: name of the key whose job an admin reads, cancels or deletes; else empty.
    """

    time: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    key: str
    path: str
    request_id: str = ""
    document: str = ""
    pages: int = 0
    model: str = ""
    model_version: str = ""
    milliseconds: float = 0.0
    outcome: str = ""
    owner: str = ""


class AuditLog:
    """Appends to a file, which may be moved away at any time: each line opens it. An empty name writes nothing."""

    def __init__(self, file: str) -> None:
        self._file = file

    @contextmanager
    def record(self, key: str, path: str, request_id: str = "") -> Generator[AuditRecord]:
        """Write a line after the `with` block, with its time and its error, if there is one."""
        record = AuditRecord(key=key, path=path, request_id=request_id)
        started = time.perf_counter()
        try:
            yield record
        except ApiError as failure:
            record.outcome = failure.code
            raise
        except (asyncio.CancelledError, ClientDisconnect):
            record.outcome = "cancelled"  # the client has gone, or the endpoint stops
            raise
        finally:
            record.milliseconds = round((time.perf_counter() - started) * 1000, 1)
            self.write(record)

    def write(self, record: AuditRecord) -> None:
        """Write a line at once, of a request that was refused, or an admin's for a job of another key."""
        if not self._file:
            return
        try:
            with open(self._file, "a", encoding="utf-8", opener=partial(os.open, mode=0o600)) as lines:
                values = asdict(record).items()
                shown = {name: value[:_LONGEST] if isinstance(value, str) else value for name, value in values}
                lines.write(json.dumps(shown, ensure_ascii=False) + "\n")
        except OSError as error:  # a full disk must not stop the answers
            _log.error("no line was written to the audit log: %s", error)
