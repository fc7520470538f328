"""A real PostgreSQL server for tests, with the programs of the system."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from tests.cluster.shared_ray import free_port

PASSWORD = "password-of-the-tests"
"""Of the user `layoutray`, which needs it at 127.0.0.1 and not at the socket."""
_SETTINGS = ("fsync=off", "max_connections=20", "shared_buffers=16MB")


@dataclass
class Server:
    """A server in a folder of its own. Its socket is reached by its owner and by root only.

    Attributes:
        programs: folder of `initdb` and `pg_ctl`.
        port: at 127.0.0.1.
    """

    programs: Path
    folder: Path
    port: int = field(default_factory=free_port)
    _names: Iterator[int] = field(default_factory=count)

    def make(self) -> None:
        """Create the files of the server."""
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        shutil.chown(secret, *_owner())
        rights = ["--auth-local=trust", "--auth-host=scram-sha-256", "--username=layoutray", f"--pwfile={secret}"]
        self._run("initdb", "--no-sync", "--encoding=UTF8", "--no-locale", *rights)

    def start(self) -> None:
        """Start, and wait until connections are accepted."""
        settings = [f"unix_socket_directories={self.folder}", f"port={self.port}", "listen_addresses=127.0.0.1"]
        options = " ".join(f"-c {setting}" for setting in (*settings, *_SETTINGS))
        self._run("pg_ctl", "start", "--wait", f"--log={self.folder / 'log'}", f"--options={options}")

    def stop(self) -> None:
        """End all processes of the server at once, as after a crash."""
        self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """The server is down during the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def restart(self) -> None:
        with self.stopped():
            pass

    def database(self, options: str = "") -> str:
        """The address of a new database.

        Args:
            options: of CREATE DATABASE.
        """
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.address(name)

    def schema(self) -> str:
        """The address of a new schema, which is made much faster than a database."""
        name = f"test_{next(self._names)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.address('postgres')}?options=-csearch_path%3D{name}"

    @contextmanager
    def tablespace(self, folder: Path) -> Iterator[str]:
        """The address of a new schema, whose tables are in a folder of the server."""
        shutil.chown(folder, *_owner())
        address, name = self.schema(), f"space_{next(self._names)}"
        self.execute(f"CREATE TABLESPACE {name} LOCATION '{folder}'")
        try:
            yield f"{address}%20-cdefault_tablespace%3D{name}"
        finally:
            self.execute(f"DROP SCHEMA {address.rpartition('%3D')[2]} CASCADE")
            self.execute(f"DROP TABLESPACE {name}")

    def address(self, database: str) -> str:
        return f"postgresql://layoutray@{quote(str(self.folder), safe='')}:{self.port}/{database}"

    def execute(self, statement: str, address: str = "") -> list[tuple[Any, ...]]:
        """Execute one statement of the administrator at an address. Returns its rows."""
        with psycopg.connect(address or self.address("postgres"), autocommit=True) as connection:
            result = connection.execute(statement.encode())
            return result.fetchall() if result.description else []

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), f"--pgdata={self.folder / 'data'}", *arguments]
        user, group = _owner()
        groups = {"user": user, "group": group, "extra_groups": []} if os.getuid() == 0 else {}
        # Not into a pipe, which the server would keep open.
        with (self.folder / "output").open("a+b") as output:
            ended = subprocess.run(command, stdout=output, stderr=output, cwd=self.folder, check=False, **groups)
        if ended.returncode:
            raise RuntimeError(f"{program} failed: {(self.folder / 'output').read_text()}")


def _owner() -> tuple[str | int, str | int]:
    """User and group of the server's files. The server does not run as root."""
    return ("nobody", "nogroup") if os.getuid() == 0 else (os.getuid(), os.getgid())


def _programs() -> Path:
    """The folder of the newest programs of the server; skips the test without any."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: float(file.parts[-3]))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    if initdb is None:
        pytest.skip("there is no PostgreSQL server; install the package postgresql of the system")
    return Path(initdb).parent


@contextmanager
def running() -> Iterator[Server]:
    """A server that runs; skips the test where its programs are absent."""
    programs = _programs()
    # Not a folder of pytest, in which only the user that runs the tests may read. Paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="layoutray-postgresql-") as folder:
        shutil.chown(folder, *_owner())
        server = Server(programs, Path(folder))
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
