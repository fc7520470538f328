"""The whole chain on pages drawn here: OCR, pretraining, fine-tuning, evaluation, registration, an answer from the endpoint."""

import argparse
import contextlib
import json
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from layoutray.answers import Entity, Region
from layoutray.cli import encode, evaluate, ingest, output_folder, synthesize, terminal, train
from layoutray.cluster.connect import connect
from layoutray.errors import LayoutrayError
from layoutray.readers.synthetic_render import render_page
from layoutray.report import overlay

MODEL = "layoutray-demo"
_START_SECONDS = 120


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="layoutray demo", description=__doc__)
    parser.add_argument(
        "--out",
        default="runs/demo",
        type=Path,
        help="folder for everything that the demo makes; new, empty, or that of an earlier demo",
    )
    parser.add_argument("--count", default=240, type=int, help="pages to draw")
    options = parser.parse_args(arguments)
    started = time.monotonic()
    out: Path = options.out
    output_folder.start_demo_folder(out)
    _learn(out, options.count)
    page = out / "unseen.png"
    picture, truth = render_page(random.Random("a page that was in no split"))
    picture.save(page)
    answer = _serve_and_ask(page)
    _show(answer, truth["fields"])
    overlay_file = out / "overlay.png"
    _draw(picture, answer, overlay_file)
    terminal.say(f"\nDone in {(time.monotonic() - started) / 60:.1f} minutes. Look at {overlay_file}")
    terminal.say("MLflow:    .venv/bin/mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5000")
    terminal.say(f"Endpoint:  .venv/bin/layoutray serve models:/{MODEL}@champion")
    terminal.say(f"           curl --form file=@{page} http://127.0.0.1:8000/v1/extract")
    return 0


def _learn(out: Path, count: int) -> None:
    """From nothing to a registered model in `out`, by the same verbs that a user types."""
    drawn, pages, windows, labelled = (str(out / name) for name in ("drawn", "pages", "windows", "labelled"))
    pretrained, finetuned = str(out / "pretrained"), str(out / "finetuned")
    with connect():
        _step("Draw forms and receipts", synthesize.main, [drawn, "--count", str(count)])
        _step("Read them with Tesseract on Ray Data", ingest.main, ["ingest-synthetic", drawn, pages])
        _step("Encode for pretraining", encode.main, ["demo-pretrain", pages, "--out", windows])
        _step(
            "Pretrain on two workers", train.pretrain, ["demo-pretrain", windows, "--out", pretrained, "--workers", "2"]
        )
        same_vocabulary = ["--set", f"tokenizer.path={pretrained}"]
        _step("Encode with labels", encode.main, ["demo-finetune", pages, "--out", labelled, *same_vocabulary])
        tune = [
            "demo-finetune",
            labelled,
            "--init",
            pretrained,
            "--out",
            finetuned,
            "--workers",
            "2",
            "--register",
            MODEL,
        ]
        _step("Fine-tune on two workers and register", train.finetune, tune)
    with contextlib.redirect_stdout(sys.stderr):
        _step("Evaluate on the test pages", evaluate.main, [finetuned, pages, "--split", "test"])


def _step(title: str, verb: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> None:
    name = verb.__module__.rpartition(".")[2] if verb.__name__ == "main" else verb.__name__
    terminal.say(f"\n== {title}\n   layoutray {name} {' '.join(arguments)}")
    status = verb(arguments)
    if status:
        raise LayoutrayError(f"{title}: ended with status {status}")


def _serve_and_ask(page: Path) -> dict[str, Any]:
    port = _free_port()
    terminal.say(
        f"\n== Serve the registered model and post a page that it has never seen\n   layoutray serve models:/{MODEL}@champion --port {port}"
    )
    with _server(port) as url:
        return _post(f"{url}/v1/extract", page)


@contextlib.contextmanager
def _server(port: int) -> Generator[str]:
    """The endpoint in a process of its own, as `layoutray serve` starts it; stopped at the end."""
    command = [sys.executable, "-m", "layoutray.cli", "serve", f"models:/{MODEL}@champion", "--port", str(port)]
    server = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{url}/healthz", server)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=2).close()
            return
        time.sleep(0.5)
    raise LayoutrayError(
        f"the endpoint at {url} did not answer within {_START_SECONDS} seconds; its messages are above"
    )


def _post(url: str, page: Path) -> dict[str, Any]:
    boundary = uuid.uuid4().hex
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{page.name}"\r\nContent-Type: image/png\r\n\r\n'
    body = head.encode() + page.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    request = urllib.request.Request(url, body, {"Content-Type": f"multipart/form-data; boundary={boundary}"})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise LayoutrayError(f"{url} answered {error.code}: {error.read().decode(errors='replace')}") from error


def _show(answer: dict[str, Any], wanted: dict[str, str]) -> None:
    rows: list[tuple[object, ...]] = []
    for entity in answer["document"]["entities"]:
        region = entity["bounding_regions"][0]
        x0, y0, _, _, x1, y1, _, _ = (round(side) for side in region["polygon"])
        known = wanted.get(entity["type"], "")
        rows.append(
            (
                entity["type"],
                entity["content"],
                float(entity["confidence"]),
                region["page_number"],
                f"{x0} {y0} {x1} {y1}",
                known,
            )
        )
    terminal.show_table(
        f"What {answer['model_id']} version {answer['model_version']} found",
        ("field", "value", "confidence", "page", "box (pixels)", "drawn as"),
        rows,
    )


def _draw(picture: Image.Image, answer: dict[str, Any], file: Path) -> None:
    entities = [
        Entity(
            type=entity["type"],
            content=entity["content"],
            confidence=entity["confidence"],
            bounding_regions=tuple(
                Region(region["page_number"], tuple(region["polygon"])) for region in entity["bounding_regions"]
            ),
            words=(),
        )
        for entity in answer["document"]["entities"]
    ]
    overlay.draw(picture, entities).save(file)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
