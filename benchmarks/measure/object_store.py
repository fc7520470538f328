"""S3 servers on the loopback interface, and the environment variables with which every process uses them.

`object_store` stores objects with moto, a server for tests: the time of its requests says nothing about a real store.
`listed_store` stores nothing: its bucket lists any number of generated keys. `folder_store` gives the files of a local
folder out, whole or by ranges of bytes, of which moto reads the whole file.
"""

import importlib
import logging
import multiprocessing
import re
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import boto3

from benchmarks.measure.environment import environment
from layoutray.errors import MissingDependencyError

_HOST = "127.0.0.1"
_PAGE_SIZE = 1000
"""Maximum number of keys in one answer, as in S3."""
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@contextmanager
def object_store(bucket: str) -> Generator[str]:
    """Run a server with an empty bucket during the block; yields the s3:// address of the bucket.

    Raises:
        MissingDependencyError: when moto's server is not installed.
    """
    try:
        server = importlib.import_module("moto.server").ThreadedMotoServer(ip_address=_HOST, port=0, verbose=False)
    except ImportError as error:
        raise MissingDependencyError(
            "moto's server is not installed; run `pip install 'moto[server]'` or `make setup`"
        ) from error
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # without a line for each request
    server.start()
    try:
        with _variables_of(server.get_host_and_port()[1]):
            boto3.client("s3").create_bucket(Bucket=bucket)
            yield f"s3://{bucket}"
    finally:
        server.stop()


@contextmanager
def listed_store(keys: int) -> Generator[str]:
    """Run a server with `keys` keys in a new process during the block; yields the s3:// prefix of the keys.

    The server answers ListObjectsV2, and 404 for each object.
    """
    with _server(_Listing, {"keys": keys}):
        yield "s3://a-bucket-of-scans/year/month"


@contextmanager
def folder_store(folder: Path) -> Generator[str]:
    """Run a server of the files of `folder` in a new process during the block; yields the s3:// address of the folder.

    The server answers HeadObject and GetObject, of a range of bytes too. Nothing can be listed or written.
    """
    with _server(_Files, {"folder": folder}):
        yield "s3://folder"


@contextmanager
def _server(handler: type[BaseHTTPRequestHandler], attributes: dict[str, object]) -> Generator[None]:
    """Run a server of `handler` with these attributes in a new process during the block."""
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    server = spawn.Process(target=_serve, args=(handler, attributes, sender), daemon=True)
    server.start()
    try:
        with _variables_of(receiver.recv()):
            yield
    finally:
        server.terminate()
        server.join()


def _variables_of(port: int) -> AbstractContextManager[None]:
    """The environment in which S3 clients use the server at `port`."""
    return environment(
        {
            "AWS_ENDPOINT_URL": f"http://{_HOST}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    )


def _serve(handler: type[BaseHTTPRequestHandler], attributes: dict[str, object], sender: Connection) -> None:
    server = ThreadingHTTPServer((_HOST, 0), type("Handler", (handler,), attributes))
    sender.send(server.server_port)
    server.serve_forever()


class _Quiet(BaseHTTPRequestHandler):
    """Keeps connections open, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Does nothing: a log line for each request is not wanted."""

    def answer(self, status: int, headers: Mapping[str, str]) -> None:
        """Send all of the answer but its body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class _Files(_Quiet):
    """Answers HeadObject and GetObject from the files of a folder."""

    folder = Path()

    def do_HEAD(self) -> None:
        self._file()

    def do_GET(self) -> None:
        wanted = _RANGE.fullmatch(self.headers.get("Range", ""))
        first, end = (int(wanted[1]), int(wanted[2]) + 1) if wanted else (0, None)
        if file := self._file(first, end):
            with file.open("rb") as opened:
                self.connection.sendfile(opened, first, end and end - first)

    def _file(self, first: int = 0, end: int | None = None) -> Path | None:
        """Send the headers of an answer with the bytes from `first` to `end`. Returns the file if there is one."""
        file = self.folder / unquote(self.path.split("/", 2)[2])
        if not file.is_file():
            self.answer(404, {"Content-Length": "0"})
            return None
        status = file.stat()
        size = min(end or status.st_size, status.st_size) - first
        headers = {"Content-Length": str(size), "Last-Modified": formatdate(status.st_mtime, usegmt=True)}
        self.answer(206 if end else 200, headers)
        return file


class _Listing(_Quiet):
    """Answers ListObjectsV2 with the next keys below the requested prefix."""

    keys = 0
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        start = int(query.get("continuation-token", 0))
        end = min(start + min(int(query.get("max-keys", _PAGE_SIZE)), _PAGE_SIZE), self.keys)
        more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < self.keys else ""
        contents = "".join(
            _CONTENTS.format(prefix=query.get("prefix", ""), number=number) for number in range(start, end)
        )
        text = _LISTED.format(truncated=str(bool(more)).lower(), more=more, count=end - start, contents=contents)
        self.answer(200, {"Content-Type": "application/xml", "Content-Length": str(len(text))})
        self.wfile.write(text.encode())

    def do_HEAD(self) -> None:
        self.answer(404, {"Content-Length": "0"})


_LISTED = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<IsTruncated>{truncated}</IsTruncated>{more}<KeyCount>{count}</KeyCount>{contents}</ListBucketResult>"
)
_CONTENTS = (
    "<Contents><Key>{prefix}{number:012d}.png</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass>"
    "</Contents>"
)
