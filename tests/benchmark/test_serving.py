"""Load on an endpoint: every document is sent once, and failures are counted apart from latencies."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from layoutray.benchmark.serving import Endpoint, in_process, measure_load
from layoutray.cli.main import main
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.readers.synthetic_render import render_set
from tests.cluster.checkpoints import save_untrained
from tests.cluster.shared_ray import free_port
from tests.ocr.files import encoded, picture


class _Stub(BaseHTTPRequestHandler):
    """Answers like the endpoint, after 20 ms; refuses a body that contains `broken`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(200, json.dumps({"models": [{"path": "/v1/extract"}]}).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path == "/v1/extract"
        assert b'name="file"' in body
        time.sleep(0.02)
        self._answer(422 if b"broken" in body else 200, b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is logged."""

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def stub() -> Iterator[Endpoint]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Stub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Endpoint(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_failed_documents_are_counted_and_not_timed() -> None:
    with stub() as endpoint:
        path = endpoint.path()
        load = measure_load(lambda: endpoint.client(path), [b"good", b"broken", b"good", b"good"], clients=2)
    assert (load.clients, load.documents, load.failed) == (2, 3, 1)
    assert 0.02 <= load.p50 <= load.p95
    assert 0 < load.per_second < 2 / 0.02


def test_clients_send_at_the_same_time() -> None:
    with stub() as endpoint:
        one, eight = (
            measure_load(lambda: endpoint.client("/v1/extract"), [b"good"] * 32, clients) for clients in (1, 8)
        )
    assert one.documents == eight.documents == 32
    assert eight.per_second > 2 * one.per_second


def test_no_answer_at_all_is_an_error() -> None:
    with stub() as endpoint, pytest.raises(InputError, match="none of 2 documents was answered"):
        measure_load(lambda: endpoint.client("/v1/extract"), [b"broken", b"broken"], clients=1)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host"])
def test_what_is_not_a_url_of_an_endpoint_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not the URL of an endpoint; it must be like http://127"):
        Endpoint(url)


def test_a_port_without_an_endpoint_is_named() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(InputError, match=f"no model is served at {url}"):
        Endpoint(url).path()


@pytest.mark.ocr
def test_the_bare_model_gets_the_words_of_all_pages() -> None:
    answered: list[list[Page]] = []
    with IsolatedRecogniser(Recognition()) as recogniser:
        send = in_process(recogniser, lambda pages: answered.append(list(pages)))
        assert send(encoded(picture("Invoice 71"), "PNG"))
        assert not send(b"no picture")
    ((page,),) = answered
    assert (page.number, [word.text for word in page.words]) == (1, ["Invoice", "71"])


def test_at_least_one_client_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["benchmark", "serving", str(tmp_path), "--clients", "0"]) == 1
    assert "--clients is 0; it must be at least 1" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.ocr
@pytest.mark.usefixtures("cluster")
def test_own_pages_are_posted_to_an_endpoint_that_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], serve_port: int
) -> None:
    monkeypatch.chdir(tmp_path)
    save_untrained(tmp_path / "checkpoint")
    render_set(tmp_path / "drawn", 3, seed=1)
    options = ["--pages", "2", "--clients", "1", "2", "--port", str(serve_port)]
    assert main(["benchmark", "serving", str(tmp_path / "checkpoint"), str(tmp_path / "drawn"), *options]) == 0
    loads = json.loads(capsys.readouterr().out)
    assert loads.keys() == {"bare model", "endpoint, 1 client", "endpoint, 2 clients"}
    assert all((load["documents"], load["failed"]) == (2, 0) for load in loads.values())
    assert all(0 < load["p50"] <= load["p95"] for load in loads.values())
