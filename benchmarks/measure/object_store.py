"""S3 servers on the loopback interface, and the environment variables with which every process uses them.

`object_store` stores objects with moto, a server for tests: the time of its requests says nothing about a real store.
`listed_store` stores nothing: its bucket lists any number of generated keys.
"""

import importlib
import logging
import multiprocessing
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from urllib.parse import parse_qs, urlsplit

import boto3

from benchmarks.measure.environment import environment
from layoutray.errors import MissingDependencyError

_HOST = "127.0.0.1"
_PAGE_SIZE = 1000
"""Maximum number of keys in one answer, as in S3."""


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
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    server = spawn.Process(target=_serve, args=(keys, sender), daemon=True)
    server.start()
    try:
        with _variables_of(receiver.recv()):
            yield "s3://a-bucket-of-scans/year/month"
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


def _serve(keys: int, sender: Connection) -> None:
    server = ThreadingHTTPServer((_HOST, 0), type("Listing", (_Listing,), {"keys": keys}))
    sender.send(server.server_port)
    server.serve_forever()


class _Listing(BaseHTTPRequestHandler):
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
        self._answer(
            200,
            _LISTED.format(truncated=str(bool(more)).lower(), more=more, count=end - start, contents=contents).encode(),
        )

    def do_HEAD(self) -> None:
        self._answer(404, b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Does nothing: a log line for each thousand keys is not wanted."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


_LISTED = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<IsTruncated>{truncated}</IsTruncated>{more}<KeyCount>{count}</KeyCount>{contents}</ListBucketResult>"
)
_CONTENTS = (
    "<Contents><Key>{prefix}{number:012d}.png</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
    "<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag><Size>1</Size><StorageClass>STANDARD</StorageClass>"
    "</Contents>"
)
