"""Files by URI, on a disk and in a real S3 server on the loopback."""

import contextlib
import hashlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import unquote

import boto3
import pyarrow.fs as pafs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.measure.object_store import object_store
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.store import sources

FILES = {
    "b/two.pdf": b"2",
    "b/c/three four.png": b"34",
    "a.png": b"1",
    "b/ä.png": b"5",
    ".hidden": b"x",
    "b/.cache/x.png": b"x",
}
SEEN = [b"1", b"34", b"2", b"5"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of FILES, below `in` in the bucket `scans` of an S3 server."""
    with object_store("scans") as address:
        bucket = boto3.resource("s3").Bucket("scans")
        for name, data in FILES.items():
            bucket.put_object(Key=f"in/{name}", Body=data)
        yield f"{address}/in"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return str(tmp_path)


@pytest.fixture(params=["disk", "s3"])
def root(request: pytest.FixtureRequest) -> str:
    """The same files on a disk and in an object store."""
    return request.getfixturevalue({"disk": "folder", "s3": "server"}[request.param])


def test_listed_files_are_sorted_unhidden_and_can_be_read(root: str) -> None:
    assert [sources.read_bytes(uri) for uri in sources.list_files(root)] == SEEN


def test_a_file_lists_itself(root: str) -> None:
    uri = sources.join(root, "b", "two.pdf")
    assert list(sources.list_files(uri)) == [uri]
    assert sources.read_bytes(uri) == b"2"


def test_a_root_with_a_slash_at_its_end_lists_the_same(root: str) -> None:
    assert list(sources.list_files(root + "/")) == list(sources.list_files(root))


def test_nothing_is_listed_where_nothing_is(root: str) -> None:
    assert list(sources.list_files(sources.join(root, "no", "such"))) == []


@given(st.sets(st.text("ab-./ é", min_size=1, max_size=6).map(lambda text: text.strip("/")), max_size=12))
def test_local_files_are_in_the_order_of_their_bytes(names: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            file = Path(folder, name)
            with contextlib.suppress(OSError):  # a name that is a folder's already, or the other way round
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        there = [str(path) for path in Path(folder).rglob("*") if path.is_file()]
        seen = [
            path for path in there if not any(part.startswith(".") for part in path.removeprefix(folder).split("/"))
        ]
        assert list(sources.list_files(folder)) == sorted(seen, key=os.fsencode)


@pytest.mark.usefixtures("server")
def test_of_a_bucket_only_what_is_below_an_address_is_listed() -> None:
    bucket = boto3.resource("s3").Bucket("scans")
    for key in ("like/a.png", "like/b/", "like/b/c.png", "like-this.png", "like.png", "like2/d.png"):
        bucket.put_object(Key=key, Body=b"x")
    assert list(sources.list_files("s3://scans/like")) == ["s3://scans/like/a.png", "s3://scans/like/b/c.png"]
    assert list(sources.list_files("s3://scans/like.png")) == ["s3://scans/like.png"]
    whole = [unquote(uri) for uri in sources.list_files("s3://scans")]
    assert {"s3://scans/like2/d.png", "s3://scans/in/ä.png"} <= {uri.replace("/b/", "/") for uri in whole}
    assert whole == sorted(whole)


@pytest.mark.usefixtures("server")
def test_a_bucket_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"bucket no-such cannot be listed: .*NoSuchBucket.*check its name"):
        list(sources.list_files("s3://no-such/in"))


class _Refusing(BaseHTTPRequestHandler):
    """As S3 answers to a key that it does not know."""

    def do_GET(self) -> None:
        body = (
            b"<Error><Code>InvalidAccessKeyId</Code><Message>The key does not exist in our records.</Message></Error>"
        )
        self.send_response(403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.mark.usefixtures("server")
def test_wrong_credentials_are_said_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = HTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=refusing.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{refusing.server_port}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    with pytest.raises(InputError, match=r"InvalidAccessKeyId.*check .*the credentials") as caught:
        list(sources.list_files("s3://scans/in"))
    refusing.shutdown()
    refusing.server_close()
    assert "a-secret" not in str(caught.value)


def test_exists(root: str) -> None:
    assert sources.exists(sources.join(root, "a.png"))
    assert not sources.exists(sources.join(root, "z.png"))


def test_a_folder_goes_with_all_that_is_in_it(root: str) -> None:
    copy = sources.join(root, "..copied") if "://" not in root else "s3://scans/copied"
    for name in ("a", "b/c"):
        files, path = sources.filesystem(sources.join(copy, name))
        files.create_dir(path.rpartition("/")[0], recursive=True)
        files.open_output_stream(path).close()
    sources.remove_folder(copy)
    sources.remove_folder(copy)
    assert not sources.exists(copy)
    assert sources.exists(sources.join(root, "a.png"))


def test_a_missing_file_is_a_document_error_that_names_it(root: str) -> None:
    uri = sources.join(root, "z.png")
    with pytest.raises(DocumentError, match=r"z\.png does not exist") as caught:
        sources.read_bytes(uri)
    assert (caught.value.reason, caught.value.stage) == (Reason.NOT_FOUND, "open")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "uri",
    [
        "s3://b",
        "s3://b/",
        "s3://b/c/",
        "s3://b/c%20%C3%A4%2Fd",
        "s3://b/a+b:c@d,e;f=g&h'i(j)*!$~",
        "s3://b/c%3Fregion=x%23%40",
    ],
)
def test_a_key_is_what_arrow_takes_it_for(uri: str) -> None:
    files, path = sources.filesystem(uri)
    assert (type(files), path) == (pafs.S3FileSystem, pafs.FileSystem.from_uri(uri)[1])


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("root", ["local", "bucket"])
def test_a_stamp_is_another_once_the_file_is(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path) if root == "local" else "s3://scans/stamped"
    files, path = sources.filesystem(folder)

    def write(name: str, data: bytes) -> None:
        files.create_dir(f"{path}/sub", recursive=True)
        with files.open_output_stream(f"{path}/{name}") as stream:
            stream.write(data)

    write("sub/a.png", b"a")
    write(".hidden", b"a")
    assert dict(sources.stamps(folder)) == {}, "it may change again before a clock shows it"
    monkeypatch.setattr(sources, "_MIN_AGE", -60.0)
    first = dict(sources.stamps(folder))
    assert list(first) == list(sources.list_files(folder)) == [sources.join(folder, "sub/a.png")]
    assert dict(sources.stamps(folder)) == first
    write("sub/a.png", b"ab")
    second = dict(sources.stamps(folder))
    assert second.keys() == first.keys()
    assert second != first
    assert dict(sources.stamps(sources.join(folder, "sub/a.png"))) == second


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "uri",
    [
        *("s3://b/c d", "s3://b/ä", "s3://b/c%", "s3://b/%zz", "s3://b/%ff", "s3:///c"),
        *("s3://b/c?endpoint_override=127.0.0.1:1&scheme=http", "s3://b?region=x", "s3://b/c#d", "s3://id:secret@b/c"),
        *("gs://b/c?endpoint_override=127.0.0.1:1", "s3://b/\n?region=x"),
    ],
)
def test_what_is_no_address_is_refused(uri: str) -> None:
    with pytest.raises(InputError, match="is not a valid address"):
        sources.filesystem(uri)


@pytest.mark.usefixtures("server")
def test_a_bucket_is_connected_to_once_until_the_environment_names_another_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = sources.filesystem("s3://scans/in/a.png")[0]
    assert sources.filesystem("s3://scans/out")[0] is first
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert sources.filesystem("s3://scans/in/a.png")[0] is not first


@pytest.mark.usefixtures("server")
def test_a_store_that_is_not_there_may_be_back_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(DocumentError, match=r"a\.png cannot be read: .*NETWORK_CONNECTION") as caught:
        sources.read_bytes("s3://scans/in/a.png")
    assert (caught.value.reason, caught.value.retryable) == (Reason.UNREACHABLE, True)


def test_a_folder_read_as_a_file_is_unreadable(folder: str) -> None:
    with pytest.raises(DocumentError) as caught:
        sources.read_bytes(sources.join(folder, "b"))
    assert caught.value.reason is Reason.UNREADABLE


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Root may read everything, so another user does, where the tests run as root."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_what_may_not_be_read_is_said() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "secret.png").write_bytes(b"1")
        (folder / "secret.png").chmod(0)
        with unprivileged():
            assert list(sources.list_files(name)) == [f"{name}/secret.png"], "it becomes a dead letter"
            with pytest.raises(DocumentError, match=r"secret\.png cannot be read: Permission denied") as caught:
                sources.read_bytes(f"{name}/secret.png")
        assert (caught.value.reason, caught.value.retryable) == (Reason.UNREADABLE, False)
        for mode in (0, 0o444):  # of which nothing, or the names alone may be read
            (folder / "locked").mkdir(exist_ok=True)
            (folder / "locked/page.png").touch()
            (folder / "locked").chmod(mode)
            with (
                unprivileged(),
                pytest.raises(
                    InputError, match=r"locked' cannot be listed: Permission denied; its files would be missing"
                ),
            ):
                list(sources.list_files(name))
            (folder / "locked").chmod(0o755)


def test_a_local_name_that_is_not_text_is_listed_and_read(tmp_path: Path) -> None:
    name = os.path.join(os.fsencode(tmp_path), b"scan-\xff.png")
    with open(name, "wb") as file:
        file.write(b"bytes")
    (uri,) = sources.list_files(str(tmp_path))
    uri.encode("utf-8")
    assert sources.read_bytes(uri) == b"bytes"


def test_a_link_in_a_circle_ends(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(b"1")
    (tmp_path / "back").symlink_to(tmp_path)
    assert len(list(sources.list_files(str(tmp_path)))) == 1


def test_a_relative_path_is_taken_from_the_working_folder(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert sources.read_bytes("a.png") == b"1"
    assert [Path(uri).name for uri in sources.list_files("b")] == ["three four.png", "two.pdf", "ä.png"]


def test_join_takes_any_scheme() -> None:
    assert sources.join("s3://bucket/key/", "a", "b.png") == "s3://bucket/key/a/b.png"
    assert sources.join("out", "pages") == "out/pages"


@given(st.binary())
def test_a_data_uri_holds_its_bytes_in_characters_of_uris(data: bytes) -> None:
    uri = sources.data_uri("application/json", data)
    assert re.fullmatch(r"[!-~]+", uri)
    assert not set(uri) & set('"<>[]{}^`|\\ ')
    assert sources.read_bytes(uri) == data


def test_a_data_uri_needs_no_type() -> None:
    assert sources.read_bytes("data:,A%20brief%20note") == b"A brief note"


@pytest.mark.parametrize(
    "uri", ["data:text/plain", "data:,100%", "data:,%7g", "data:,two words", "data:,ä", "data:;base64,QQ=="]
)
def test_a_malformed_data_uri_is_a_document_error_that_does_not_repeat_it(uri: str) -> None:
    with pytest.raises(DocumentError, match=rf"a data: URI of {len(uri)} characters is not") as caught:
        sources.read_bytes(uri)
    assert (caught.value.reason, caught.value.stage) == (Reason.UNREADABLE, "open")
    assert uri not in str(caught.value)


def test_the_id_of_a_document_is_the_hash_of_its_bytes() -> None:
    assert sources.content_id(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_a_path_with_dots_is_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "work/link").symlink_to(tmp_path / "far/away")
    monkeypatch.chdir(tmp_path / "work")
    assert sources.absolute("../scans/./a.png") == str(tmp_path / "scans/a.png")
    assert sources.absolute("link/../a.png") == str(tmp_path / "far/a.png"), "what the operating system opens"
    assert sources.absolute("link/a.png") == str(tmp_path / "work/link/a.png"), "as the user knows it"
    assert sources.local_path("../scans") == tmp_path / "scans"
    assert sources.absolute("s3://bucket/a/../b") == "s3://bucket/a/../b"


def test_a_name_that_is_too_long_for_the_disk_does_not_exist(tmp_path: Path) -> None:
    assert not sources.exists(str(tmp_path / ("a" * 300)))
    assert not sources.exists(str(tmp_path / ("a" * 300) / "b"))
    assert not sources.exists(str(tmp_path) + "/a" * 3000)
