"""`layoutray export label-studio`: pages as Label Studio tasks with suggestions, and the interface to label them in.

Suggestions are the pages' own labels, or the answers of a checkpoint with their confidences. `layoutray ingest
ingest-label-studio` reads what people made of the tasks, exported by Label Studio as JSON.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.cli import options, terminal
from layoutray.cli.export.documents import pages_folder
from layoutray.document import Page
from layoutray.document.tags import OUTSIDE
from layoutray.errors import InputError
from layoutray.exchange import label_studio
from layoutray.exchange.label_studio import LabelledSpan
from layoutray.report import png
from layoutray.report.page_picture import page_picture
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet

Answers = dict[tuple[str, int], tuple[str, tuple[LabelledSpan, ...]]]
"""By document id and page number: the model with its version, and the entities that it found."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """Options of `layoutray export label-studio`.

    Attributes:
        labels: to offer in addition to those of the pages.
        root: folder from which Label Studio serves local files.
        url: prefix of a file's path below `root`.
    """

    pages: str
    out: str
    answers: str | None
    labels: Sequence[str]
    root: str
    url: str


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parse(arguments)
    ingested, answered = _folders(chosen.pages, chosen.answers)
    if sources.exists(sources.join(sources.absolute(chosen.out), "tasks.json")):
        raise InputError(f"{chosen.out} already holds tasks; give another folder, or delete it")
    answers = _answers(answered) if answered else {}
    pages = list(_pages(ingested))
    tasks = [_task(page, answers, chosen) for page in pages if page.image]
    without_picture = len(pages) - len(tasks)
    if not tasks:
        raise InputError(
            f"none of the {without_picture} pages in {chosen.pages} has a picture to label; "
            "ingest them from pictures or PDFs"
        )
    labels = _labels(tasks, chosen.labels)
    _write(tasks, labels, sources.absolute(chosen.out))
    terminal.say(
        f"{len(tasks)} pages to label as {', '.join(labels)}: "
        f"import {chosen.out}/tasks.json into a project with the interface of labels.xml"
    )
    if without_picture:
        terminal.say(f"{without_picture} pages without a picture are left out")
    return 0


def _parse(arguments: Sequence[str] | None) -> ExportOptions:
    parser = options.parser("export label-studio")
    parser.add_argument("pages", help="folder written by `layoutray ingest`, or by `layoutray predict` from files")
    parser.add_argument(
        "out", help="folder for tasks.json, labels.xml, and pictures of pages in formats that browsers do not show"
    )
    parser.add_argument("--answers", metavar="FOLDER", help="answers of `layoutray predict` for these pages")
    parser.add_argument(
        "--labels", nargs="+", default=[], metavar="LABEL", help="labels to offer in addition to those of the pages"
    )
    parser.add_argument(
        "--root", default="/", help="folder from which Label Studio serves local files (default: %(default)s)"
    )
    parser.add_argument(
        "--url",
        default=label_studio.LOCAL_FILES,
        metavar="PREFIX",
        help="prefix of a file's path below --root (default: %(default)s)",
    )
    return options.parse(parser, arguments, ExportOptions)


def _folders(pages: str, answers: str | None) -> tuple[str, str | None]:
    """The folder of the pages and that of the answers; `predict` keeps pages that it read from files in `ingested`."""
    folder = pages_folder(pages)
    return folder, answers if folder == pages else answers or pages


def _pages(folder: str) -> Iterator[Page]:
    """Pages in order of source and number, so that tasks have the same order every time."""
    yield from sorted(DataSet(folder).read_pages(), key=lambda page: (page.source, page.number))


def _answers(folder: str) -> Answers:
    files = [uri for uri in sources.list_files(sources.join(folder, "jsonl")) if uri.endswith(".jsonl")]
    if not files:
        raise InputError(f"{folder} holds no jsonl/*.jsonl; point --answers to a folder written by `layoutray predict`")
    answers: Answers = {}
    for line in (line for uri in files for line in sources.read_bytes(uri).splitlines()):
        answer = json.loads(line)
        records = {
            (entity["type"], *entity["words"]): (record["name"], record["row"])
            for record in answer.get("records", ())
            for entity in record["fields"]
        }
        marks = tuple(
            LabelledSpan(
                entity["type"],
                tuple(entity["words"]),
                entity["confidence"],
                entity["content"],
                records.get((entity["type"], *entity["words"])),
            )
            for entity in answer["entities"]
        )
        for page in answer["pages"]:
            model = f"{answer['model_id']} {answer['model_version']}"
            answers[answer["doc_id"], page["page_number"]] = model, marks
    return answers


def _task(page: Page, answers: Answers, chosen: ExportOptions) -> dict[str, Any]:
    """The page as a task; the suggestions are the answers where there are any, else the page's own labels."""
    model, marks = answers.get((page.doc_id, page.number), ("layoutray", label_studio.spans_of(page)))
    picture = _picture(page, sources.absolute(chosen.out))
    url = label_studio.picture_url(picture, sources.absolute(chosen.root), chosen.url)
    return label_studio.task(page, marks, url, model)


def _picture(page: Page, out: str) -> str:
    """URI of a picture of the page that browsers show; drawn into `out` if the page's own is in another format."""
    if label_studio.browser_can_show(page):
        return sources.absolute(page.image)
    picture = png.png(page_picture(page))
    return shards.write_bytes(picture, sources.join(out, "pictures"), f"{page.doc_id[:16]}-{page.number}.png")


def _labels(tasks: Sequence[Mapping[str, Any]], extra: Sequence[str]) -> list[str]:
    results = (result for task in tasks for result in task["predictions"][0]["result"])
    suggested = {result["value"]["rectanglelabels"][0] for result in results if result["type"] == "rectanglelabels"}
    labels = sorted({*extra, *suggested} - {OUTSIDE})
    if not labels or not all(label.strip() for label in labels):
        raise InputError("the pages carry no labels, and --labels names none; name at least one with --labels")
    return labels


def _write(tasks: Sequence[Mapping[str, Any]], labels: Sequence[str], out: str) -> None:
    """Write the interface, then the tasks: `tasks.json` marks a complete export."""
    shards.write_bytes(label_studio.labelling_interface(labels).encode(), out, "labels.xml")
    shards.write_bytes(json.dumps(tasks, ensure_ascii=False).encode(), out, "tasks.json")
