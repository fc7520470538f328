"""Lines of the audit log."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutray.serving.access.audit import AuditLog, AuditRecord


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    AuditLog(str(file)).write(AuditRecord(key="acme", path="/v1/extract", request_id="", outcome="rate_limited"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_line_is_short_whatever_a_client_sends(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(str(file)).record("acme", "/v1/models/" + "ä" * 60_000, "r" * 128) as record:
        record.model = "m" * 60_000
    (line,) = file.read_text().splitlines()
    assert len(line) < 4096
    assert "/v1/models/ä" in line
