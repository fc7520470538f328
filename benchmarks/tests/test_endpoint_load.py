"""Load on an endpoint: every document is sent once, and failures are counted apart from latencies."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.measure.endpoint_load import (
    Endpoint,
    Load,
    in_process,
    measure_batches,
    measure_load,
    post_of_file,
    post_of_words,
)
from benchmarks.measure.endpoint_rounds import Range, compare
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.ocr.isolated import IsolatedRecogniser
from layoutray.ocr.settings import Recognition
from layoutray.serving.limits import Limits
from layoutray.serving.submission import word_pages
from layoutray.synthetic.render import render_set
from tests.cluster.checkpoints import save_untrained
from tests.cluster.shared_ray import free_port
from tests.documents import pages
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
        self._answer(422 if b"broken" in body else 200, b'{"timings": {"model_ms": 3.0, "total_ms": 20.0}}')

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
        posts = [post_of_file(data) for data in (b"good", b"broken", b"good", b"good")]
        load = measure_load(lambda: endpoint.client(path), posts, clients=2)
    assert (load.clients, load.documents, load.failed) == (2, 3, 1)
    assert 0.02 <= load.p50 <= load.p95
    assert 0 < load.per_second < 2 / 0.02
    assert load.timings == {"model_ms": 3.0, "total_ms": 20.0}


def test_clients_send_at_the_same_time() -> None:
    with stub() as endpoint:
        one, eight = (
            measure_load(lambda: endpoint.client("/v1/extract"), [post_of_file(b"good")] * 32, clients)
            for clients in (1, 8)
        )
    assert one.documents == eight.documents == 32
    assert eight.per_second > 2 * one.per_second


def test_no_answer_at_all_is_an_error() -> None:
    with stub() as endpoint, pytest.raises(InputError, match="none of 2 documents was answered"):
        measure_load(lambda: endpoint.client("/v1/extract"), [post_of_file(b"broken")] * 2, clients=1)


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
        assert send(encoded(picture("Invoice 71"), "PNG")) == b""
        assert send(b"no picture") is None
    ((page,),) = answered
    assert (page.number, [word.text for word in page.words]) == (1, ["Invoice", "71"])


def test_words_are_posted_as_the_endpoint_takes_them() -> None:
    given = pages(3)
    received = word_pages(post_of_words(given).body, Limits()).pages
    assert [[word.text for word in page.words] for page in received] == [
        [word.text for word in page.words] for page in given
    ]
    assert [page.words[0].box for page in received] == [page.words[0].box for page in given]


def test_a_loop_over_batches_counts_documents() -> None:
    batches: list[Sequence[int]] = []

    def answer(batch: Sequence[int]) -> None:
        batches.append(batch)
        time.sleep(0.02)

    load = measure_batches(answer, [1, 2, 3, 4, 5], 2)
    assert batches == [[1, 2], [1, 2], [3, 4], [5]], "the first batch also before the measurement"
    assert load.documents == 5
    assert load.per_second < 5 / 0.06


def load(p50: float, per_second: float) -> Load:
    return Load(
        clients=1,
        documents=9,
        failed=0,
        p50=p50,
        p95=p50,
        per_second=per_second,
        timings={"model_ms": 2.0, "total_ms": 5.0},
    )


def test_sides_take_turns_and_are_compared_round_by_round() -> None:
    order: list[str] = []
    ours, bare = iter([load(0.010, 40.0), load(0.012, 60.0)]), iter([load(0.005, 80.0), load(0.010, 60.0)])

    def side(name: str, loads: Iterator[Load]) -> Callable[[], Load]:
        return lambda: (order.append(name), next(loads))[1]

    found = compare({"words": (side("endpoint", ours), side("bare", bare))}, 2)["words"]
    assert order == ["bare", "endpoint", "endpoint", "bare"]
    assert found.added_latency() == pytest.approx(Range(3.5, 2.0, 5.0))
    assert found.relative_latency() == Range(1.6, 1.2, 2.0)
    assert found.relative_throughput() == Range(0.75, 0.5, 1.0)
    assert found.stages() == {"model_ms": 2.0, "total_ms": 5.0, "http_ms": pytest.approx(6.0)}
    assert found.relative_throughput().shown(2) == "0.75 (0.50 to 1.00)"


def test_at_least_one_client_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serving", str(tmp_path), "--clients", "0"]) == 1
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
    options = ["--pages", "2", "--clients", "2", "--rounds", "2", "--port", str(serve_port)]
    assert main(["serving", str(tmp_path / "checkpoint"), str(tmp_path / "drawn"), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"words, 1 client", "words, 2 clients", "files, 1 client"}
    loads = [load for sides in found.values() for side in sides.values() for load in side]
    assert [len(side) for sides in found.values() for side in sides.values()] == [2] * 6
    assert all(load["documents"] in (2, 8) and not load["failed"] for load in loads)
    assert all(0 < load["p50"] <= load["p95"] for load in loads)
