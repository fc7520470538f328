"""The steps of `layoutray demo`: from pages that the start has never seen, by ten labels, to a model that is served.

The start of the package answers pages without a label. Then a model is trained on ten labelled documents, registered in
MLflow and served, and answers the same pages. The documents are drawn, or a folder of one's own.
"""

import asyncio
import contextlib
import csv
import json
import shutil
import socket
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import aiohttp
from PIL import Image

from layoutray.cli import serve
from layoutray.cli.answer import answer
from layoutray.cli.demo import DemoOptions
from layoutray.cli.shared import terminal
from layoutray.cli.synthesize import synthesize
from layoutray.cli.train_folder import train_folder
from layoutray.cluster.connect import connect
from layoutray.cluster.endpoint.application import running
from layoutray.document.answers import Entity, Region
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.errors import InputError, LayoutrayError
from layoutray.readers.own.values import READER
from layoutray.report import overlay
from layoutray.store import sources
from layoutray.store.output_lock import working_on
from layoutray.tasks.field_names import asked_fields

MODEL = "layoutray-demo"
MARKER = ".layoutray-demo"
"""File in the output folder of `layoutray demo`. The demo deletes no folder without this file."""
FIELDS = "company:name, address:address, date:date, total:amount"
_SHORT = {"folds": 2, "overrides": ["train.steps=24", "train.warmup_steps=2"]}
"""Fewer and shorter trainings than `layoutray train` would choose, so that the demo takes five minutes."""
_OVERLAY = "overlay.png"

Found = Mapping[str, Sequence[str]]
"""Contents of the answers of a document by field."""


@dataclass(frozen=True, kw_only=True)
class Demo(DemoOptions):
    """One run of `layoutray demo`, with the wall time of each step, and the truth by file and field."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    truth: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    @cached_property
    def labelled(self) -> Path:
        return self.documents or self.out / "labelled"

    def draw(self) -> None:
        """Draw documents into `labelled`, and others, of which only this command knows the values, into `unseen`."""
        drawn, unseen = self.out / "drawn", self.out / "unseen"
        synthesize(drawn, count=self.count + self.unseen, seed=self.seed)
        pictures = sorted((drawn / "images").iterdir())
        for folder, files in ((self.labelled, pictures[: self.count]), (unseen, pictures[self.count :])):
            folder.mkdir()
            with (folder / "values.csv").open("w", encoding="utf-8", newline="") as table:
                writer = csv.writer(table)
                writer.writerow(("file", "field", "value"))
                for file in files:
                    shutil.copy(file, folder)
                    truth = json.loads((drawn / "annotations" / f"{file.stem}.json").read_text())["fields"]
                    writer.writerows((file.name, name, truth[name]) for name in asked_fields(FIELDS) if name in truth)
        self.truth.update(values(unseen))
        (unseen / "values.csv").rename(self.out / "truth.csv")

    def choose(self) -> None:
        """Copy the documents of `documents` that have no values into `unseen`, or the first ones if all have some."""
        files = [
            file
            for file in sorted(self.labelled.iterdir())
            if file.suffix.lower() in (".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff")
        ]
        known = values(self.labelled)
        (self.out / "unseen").mkdir()
        for file in [file for file in files if file.name not in known] or files[: self.unseen]:
            shutil.copy(file, self.out / "unseen")

    def before(self, fields: str) -> dict[str, Found]:
        """The answers of the start to the documents in `unseen`, by file."""
        with self.step("Answer documents without a label"):
            answered = answer(self.out / "unseen", fields, model="start", out=self.out / "before")
        found: dict[str, dict[str, list[str]]] = {}
        for document in answered:
            of_file = found.setdefault(Path(document["document"]).name, {})
            for value in document["fields"]:
                of_file.setdefault(value["field"], []).append(value["content"])
        return dict(found)

    def after(self) -> dict[str, Found]:
        """Serve the registered model and post the documents in `unseen`. Draws the answer to the first picture."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            port = listening.getsockname()[1]
        found: dict[str, Found] = {}
        with self.step("Serve the model and post the same documents"):
            settings, registry = serve.parts(
                vars(serve.parser().parse_args([f"models:/{MODEL}@candidate", "--port", str(port)]))
            )
            with running(settings, registry=registry) as url:
                for file in sorted((self.out / "unseen").iterdir()):
                    fields = asyncio.run(_post(f"{url}/v1/extract", file))["document"]["fields"]
                    names = {one["name"] for one in fields}
                    found[file.name] = {
                        name: [one["content"] for one in fields if one["name"] == name] for name in names
                    }
                    if file.suffix == ".png" and not (self.out / _OVERLAY).exists():
                        with Image.open(file) as picture:
                            overlay.draw(picture.convert("RGB"), _entities(fields)).save(self.out / _OVERLAY)
        return found

    @contextlib.contextmanager
    def step(self, title: str) -> Generator[None]:
        terminal.say(f"\n== {title}")
        started = time.monotonic()
        yield
        self.seconds[title] = time.monotonic() - started


def run(demo: Demo) -> None:
    """Run all steps. Raises InputError before anything is deleted."""
    if demo.documents:
        values(demo.documents)  # before the folder of a former demo is emptied
    with working_on(str(demo.out)):
        start_folder(demo.out)
        if demo.documents is None:
            with demo.step("Draw documents"):
                demo.draw()
        else:
            demo.choose()
        names = dict.fromkeys(name for of_file in values(demo.labelled).values() for name in of_file)
        fields = FIELDS if demo.documents is None else ", ".join(names)
        with connect():
            before = demo.before(fields)
            with demo.step("Train on the labelled documents"):
                train_folder(
                    demo.labelled, out=demo.out / "trained", name=MODEL, fields=fields, experiment=MODEL, **_SHORT
                )
            after = demo.after()
        if demo.documents is None:
            rows = comparison(demo.truth, before, after, asked_fields(FIELDS))
            columns = ("field", "documents", "right without a label", f"right after {demo.count} labels")
            terminal.show_table("Answers to documents that neither model has seen", columns, rows)
        times = [(title, f"{seconds:.0f}") for title, seconds in demo.seconds.items()]
        terminal.show_table("Wall time", ("step", "seconds"), [*times, ("sum", f"{sum(demo.seconds.values()):.0f}")])
        terminal.say(next_steps(demo.out))


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


def values(folder: Path) -> dict[str, dict[str, str]]:
    """The values of each file that the tables in `folder` name, by field. Raises InputError as the reader of values."""
    found = (READER.read(one) for one in READER.discover(sources.absolute(str(folder))))
    documents = [truth.document for truth in found]
    return {sources.name(one.source): {field.name: field.value for field in one.fields} for one in documents}


def comparison(
    truth: Mapping[str, Mapping[str, str]],
    before: Mapping[str, Found],
    after: Mapping[str, Found],
    schema: Mapping[str, FieldType],
) -> list[tuple[object, ...]]:
    """A row for each field: how many documents have a value, and of how many each model answers the right one."""
    counts = {name: Counter[str]() for name in schema}
    for file, of_file in truth.items():
        for name, value in of_file.items():
            counts[name]["documents"] += 1
            for answers, key in ((before, "before"), (after, "after")):
                given = {normal_form(one, schema[name]) for one in answers.get(file, {}).get(name, [])}
                counts[name][key] += normal_form(value, schema[name]) in given - {None}
    return [(name, one["documents"], one["before"], one["after"]) for name, one in counts.items()]


def _entities(fields: Sequence[Mapping[str, Any]]) -> list[Entity]:
    """The fields of an answer as the overlay draws them."""
    return [
        Entity(
            type=one["name"],
            content=one["content"],
            confidence=one["confidence"],
            bounding_regions=tuple(
                Region(region["page_number"], tuple(region["polygon"])) for region in one["bounding_regions"]
            ),
            words=(),
        )
        for one in fields
    ]


def next_steps(out: Path) -> str:
    return f"""
Overlay of an answer:   {out / _OVERLAY}
MLflow:                 mlflow ui --backend-store-uri sqlite:///mlflow.db --host 127.0.0.1 --port 5000
Endpoint:               layoutray serve models:/{MODEL}@candidate
                        curl --form file=@{out / "unseen"}/FILE http://127.0.0.1:8000/v1/extract

(Run `source .venv/bin/activate` first.)

Your own documents, before the first label; then with the values of some of them in DOCUMENTS/values.csv
(columns file, field, value):
  layoutray answer DOCUMENTS --fields "vendor, date, total" --out runs/answers
  layoutray train DOCUMENTS --out runs/mine --name mine
  layoutray serve models:/mine@champion

The same demo on them:  make demo DOCUMENTS=folder"""


async def _post(url: str, page: Path) -> dict[str, Any]:
    with page.open("rb") as file:
        async with aiohttp.ClientSession() as session, session.post(url, data={"file": file}) as response:
            if response.status != 200:
                raise LayoutrayError(f"{url} answered {response.status}: {await response.text()}")
            return await response.json()
